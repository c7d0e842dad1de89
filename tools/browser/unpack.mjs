// Unpack Chromium, its libraries and fonts into $TMPDIR; delete the package, which has 67 MB.
import { rmSync } from "node:fs";
import { inflate } from "@sparticuz/chromium";

for (const name of ["chromium.br", "al2023.tar.br", "fonts.tar.br", "swiftshader.tar.br"]) {
  await inflate(`node_modules/@sparticuz/chromium/bin/${name}`);
}
rmSync("node_modules/@sparticuz", { recursive: true });
