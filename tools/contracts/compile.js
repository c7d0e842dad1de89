// Compiles the contracts beside it into JSON; TestUSDC.sol says how to run it.
const fs = require("fs");
const path = require("path");
const solc = require("solc");

const settings = {
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
};

for (const name of ["TestUSDC", "TestMulticall"]) {
  const content = fs.readFileSync(path.join(__dirname, `${name}.sol`), "utf8");
  const input = { language: "Solidity", sources: { source: { content } }, settings };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  if (output.errors) {
    console.error(output.errors.map((error) => error.formattedMessage).join("\n"));
    process.exit(1);
  }
  const { abi, evm } = output.contracts.source[name];
  const built = {
    abi,
    bytecode: "0x" + evm.bytecode.object,
    runtime: "0x" + evm.deployedBytecode.object,
    solc: solc.version(),
  };
  fs.writeFileSync(path.join(__dirname, `${name}.json`), JSON.stringify(built, null, 1) + "\n");
}
