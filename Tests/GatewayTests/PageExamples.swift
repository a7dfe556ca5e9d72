import Foundation
import ProcessTesting
import Testing

/// The examples of a page of the operator's book, which a shell runs unchanged with curl. A comment `<!-- ROLE -->` before
/// an example names the role of the key that it needs.
struct PageExamples {
    private let examples: [(role: String, script: String)]

    /// - Parameter page: The text of the page.
    init(in page: String) {
        examples = page.components(separatedBy: "<!-- ").dropFirst().map { part in
            let role = String(part.prefix { $0 != " " })
            let script = part.components(separatedBy: "```sh\n")[1].components(separatedBy: "\n```")[0]
            // The examples of Netmera's interface need a key of the role `send`.
            return (role == "netmera" ? "send" : role, script)
        }
    }

    var count: Int { examples.count }

    /// Runs all examples against a gateway with keys of the app `shop`. Returns the statuses of the answers.
    func run(on bench: GatewayBench) async throws -> [String] {
        var statuses: [String] = []
        for (role, script) in examples {
            let key = try #require(bench.keys["shop/\(role)"])
            // The variables of the page, and a curl that prints the status of each answer.
            let head = """
                set -e
                FLOTILLA=http://127.0.0.1:\(bench.port)
                KEY=\(key)
                curl() { command curl -sS --fail-with-body -w '\\n%{http_code}\\n' "$@"; }

                """
            let process = try ChildProcess("bash", arguments: ["-c", head + script])
            #expect(try await process.exitStatus() == 0, "\(process.output) \(process.errors)\n\(script)")
            statuses += process.output.split(separator: "\n").map(String.init).filter {
                $0.count == 3 && $0.hasPrefix("2")
            }
        }
        return statuses
    }
}
