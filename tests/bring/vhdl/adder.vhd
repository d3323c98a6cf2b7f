-- Adds a constant of a package to a stream.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.constants.all;

entity Adder is
  generic (EXTRA : natural := 0);
  port (
    ap_clk         : in  std_logic;
    ap_rst_n       : in  std_logic;
    numbers_tdata  : in  std_logic_vector(31 downto 0);
    numbers_tlast  : in  std_logic;
    numbers_tvalid : in  std_logic;
    numbers_tready : out std_logic;
    sums_tdata     : out std_logic_vector(31 downto 0);
    sums_tlast     : out std_logic;
    sums_tvalid    : out std_logic;
    sums_tready    : in  std_logic);
end entity;

architecture rtl of Adder is
  signal full, last : std_logic;
  signal sum        : unsigned(31 downto 0);
begin
  numbers_tready <= sums_tready or not full;
  sums_tvalid    <= full;
  sums_tlast     <= last;
  sums_tdata     <= std_logic_vector(sum);

  process (ap_clk)
  begin
    if rising_edge(ap_clk) then
      if ap_rst_n = '0' then
        full <= '0';
      elsif sums_tready = '1' or full = '0' then
        full <= numbers_tvalid;
        sum  <= unsigned(numbers_tdata) + ADDEND + EXTRA;
        last <= numbers_tlast;
      end if;
    end if;
  end process;
end architecture;
