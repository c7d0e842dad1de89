// Compiles TestUSDC.sol into TestUSDC.json; TestUSDC.sol says how to run it.
const fs = require("fs");
const path = require("path");
const solc = require("solc");

const source = fs.readFileSync(path.join(__dirname, "TestUSDC.sol"), "utf8");
const settings = {
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
};
const input = { language: "Solidity", sources: { "TestUSDC.sol": { content: source } }, settings };
const output = JSON.parse(solc.compile(JSON.stringify(input)));
if (output.errors) {
  console.error(output.errors.map((error) => error.formattedMessage).join("\n"));
  process.exit(1);
}
const { abi, evm } = output.contracts["TestUSDC.sol"].TestUSDC;
const built = { abi, bytecode: "0x" + evm.bytecode.object, solc: solc.version() };
fs.writeFileSync(path.join(__dirname, "TestUSDC.json"), JSON.stringify(built, null, 1) + "\n");
