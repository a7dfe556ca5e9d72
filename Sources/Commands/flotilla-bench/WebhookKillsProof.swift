internal import Foundation
internal import WebhooksTesting

/// The kill test of the webhooks stage, with more events and kills than in the tests (`WebhookKillTest`). The option
/// `--calls FILE` writes the calls to a file, for a check of their signatures by another program.
enum WebhookKillsProof {
    static func run(arguments: [String]) throws {
        var plan = WebhookKillTest.Plan()
        plan.events = 30_000
        plan.users = 2000
        plan.randomKills = 100
        var arguments = arguments
        var callsFile: String?
        if let index = arguments.firstIndex(of: "--calls"), index + 1 < arguments.count {
            callsFile = arguments[index + 1]
            arguments.removeSubrange(index...index + 1)
        }
        let proof = KillsProof<WebhookKillTest.Plan>(
            name: "webhook-kills", claim: "every event was accepted, and those of each user in order",
            flags: ["--events": \.events, "--users": \.users])
        try proof.run(plan: plan, arguments: arguments) { [callsFile] plan, program, bed, directory in
            let result = try await WebhookKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            ).run()
            if let callsFile { try write(result, to: callsFile) }
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts: "\(result.events) events, \(result.calls) calls", fault: result.fault)
        }
    }

    /// The most calls in the file.
    private static let callsMax = 5000

    /// Writes the secret and the newest calls, a JSON object on each line.
    private static func write(_ result: WebhookKillTest.Result, to path: String) throws {
        let secret = "whsec_" + Data(result.key).base64EncodedString()
        let lines = try result.sample.suffix(callsMax).map { call in
            let object: [String: Any] = ["secret": secret, "headers": call.headers, "body": call.body]
            return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
        }
        try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
}
