package constants is
  constant ADDEND : natural := 7;
end package;
