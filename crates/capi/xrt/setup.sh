# For a shell in which programs of XRT are built and run on the simulated card: source PREFIX/xrt/setup.sh
XILINX_XRT=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
export XILINX_XRT
export LD_LIBRARY_PATH="$XILINX_XRT/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export XCL_EMULATION_MODE="${XCL_EMULATION_MODE:-hw_emu}"
# Makefiles link OpenCL's library to programs that call nothing of it: where it is not installed, an empty one.
if [ ! -e "$(${CXX:-g++} -print-file-name=libOpenCL.so)" ]; then
  export LIBRARY_PATH="$XILINX_XRT/lib/empty${LIBRARY_PATH:+:$LIBRARY_PATH}"
fi
