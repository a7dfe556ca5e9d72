import Foundation
import ProcessTesting
import Testing

/// `flotilla apps`, `keys` and `report` on a new installation.
struct CatalogCommandTests {
    private let directory: TemporaryDirectory
    private let installation: Installation

    init() async throws {
        directory = try TemporaryDirectory()
        installation = try await Installation(directory.path)
    }

    /// Returns the records of a topic, a line for each: `PARTITION KEY VALUE`.
    private func kcat(_ topic: String) async throws -> String {
        let process = try ChildProcess(
            "kcat",
            arguments: [
                "-b", installation.broker, "-t", "flotilla.\(topic)", "-C", "-e", "-q", "-f", "%p %k %s\n",
            ])
        #expect(try await process.exitStatus() == 0)
        return process.output
    }

    @Test func `an app is created once, shown, changed, and deleted with its keys`() async throws {
        #expect(try await installation.flotilla("apps").output.hasPrefix("no app yet"))
        try await installation.createShop()
        let again = try await installation.flotilla(
            "apps", "create", "shop", "--bundle-id", "x", "--team-id", "ABCDE12345", "--key-id", "KEY1234567")
        #expect(again.status == ExitCode.usage && again.errors.contains("there is an app shop already"))
        let file = try directory.writeFile(
            named: "shop.json",
            content:
                #"{"bundleId":"com.example.shop","environments":["production"],"teamId":"ABCDE12345","keyId":"KEY1234567","activityTypes":[{"name":"Match","updateTokenTtl":"1h","requiredAttributes":["home"]}]}"#
        )
        let updated = try await installation.flotilla(
            "apps", "update", "shop", "--file", file, "--environments", "production,sandbox", "--json")
        #expect(updated.output.contains(#""environments":["production","sandbox"]"#), "\(updated)")
        let shown = try await installation.flotilla("apps", "show", "shop")
        #expect(shown.output.contains("production,sandbox") && shown.output.contains("Match"))
        #expect(try await installation.flotilla("keys", "create", "shop", "--role", "send").status == 0)
        let unsure = try await installation.flotilla("apps", "delete", "shop")
        #expect(unsure.status == ExitCode.usage && unsure.errors.contains("confirm with --yes"))
        #expect(try await installation.flotilla("apps", "delete", "shop", "--yes").status == 0)
        #expect(try await installation.flotilla("apps", "show", "shop").status == ExitCode.usage)
        #expect(try await installation.flotilla("keys").output.hasPrefix("no key yet"))
        let audit = try await kcat("audit").split(separator: "\n").filter { $0.contains(" shop ") }
        let actions = audit.map { line in
            line.components(separatedBy: #""action":""#).last?.prefix { $0 != "\"" } ?? ""
        }
        #expect(actions == ["app.create", "app.update", "key.create", "key.delete", "app.delete"])
    }

    @Test func `a certificate and a key file are refused with the reason`() async throws {
        let certificate = try await installation.flotilla("apps", "create", "x", "--certificate", "push.p12")
        #expect(certificate.status == ExitCode.usage && certificate.errors.contains("make a key (.p8)"))
        for (word, reason) in [("AuthKey.p8", "is a file on the senders"), ("push.p12", "make a key (.p8)")] {
            let answer = try await installation.flotilla(
                "apps", "create", "x", "--bundle-id", "b", "--team-id", "ABCDE12345", "--key-id", word)
            #expect(answer.status == ExitCode.dataError && answer.errors.contains(reason), "\(answer)")
        }
    }

    @Test func `the text of a key is shown only once`() async throws {
        try await installation.createShop()
        let key = try await installation.flotilla(
            "keys", "create", "shop", "--role", "report", "--name", "ios")
        let text = key.output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(text.hasPrefix("flotilla_report_") && !text.contains("\n"))
        let id = String(text.split(separator: "_")[2])
        let listed = try await installation.flotilla("keys", "list", "shop")
        #expect(
            listed.output.contains(id) && listed.output.contains(" ios ") && listed.output.contains("good"))
        let revoked = try await installation.flotilla("keys", "revoke", text)
        #expect(revoked.status == 0 && revoked.output.contains("revoked"))
        // A key ends with its secret of 43 characters and a checksum of 6.
        let secret = text.suffix(49).prefix(43)
        var laterOutputs = listed.output + revoked.output + installation.process.errors
        for topic in ["catalog", "audit"] { laterOutputs += try await kcat(topic) }
        #expect(!laterOutputs.contains(secret))
        #expect(
            try await installation.flotilla("keys", "create", "shop", "--role", "god").status
                == ExitCode.usage)
        #expect(
            try await installation.flotilla("keys", "create", "nobody", "--role", "send").status
                == ExitCode.usage)
        #expect(try await installation.flotilla("keys", "revoke", "unknown").status == ExitCode.usage)
    }

    @Test func `a report by hand follows the gateway's rules and goes to the same partition`() async throws {
        try await installation.createShop()
        let flags = try await installation.flotilla(
            "report", "--app", "shop", "--installation-id", "phone-1", "--kind", "startToken",
            "--attributes-type", "Match", "--token", "c0ffee", "--tags", "vip,home", "--event-time", "5")
        #expect(flags.status == 0, "\(flags.errors)")
        let json = try await installation.flotilla(
            "report", "--json",
            #"{"app":"shop","environment":"production","installationId":"phone-1","kind":"heartbeat"}"#)
        // Ingest adds a claim of the token, with another key.
        let stored = try await kcat("reports").split(separator: "\n").map {
            $0.split(separator: " ", maxSplits: 2)
        }.filter { !$0[1].contains("/t:") }
        #expect(stored.map { $0[1] } == ["shop/i:phone-1", "shop/i:phone-1"])
        // The keys of an installation that runs on this machine are found, so the token is sealed.
        #expect(stored[0][2].contains(#""tags":["vip","home"],"eventTime":5,"sequence":0}"#))
        #expect(!stored[0][2].contains("c0ffee"))
        #expect(flags.output == "stored in flotilla.reports, partition \(stored[0][0]), offset 0\n")
        #expect(
            json.output == #"{"topic":"flotilla.reports","partition":\#(stored[0][0]),"offset":1}"# + "\n")
        let wrong = try await installation.flotilla(
            "report", "--app", "shop", "--installation-id", "p", "--kind", "tap", "--event-time", "now")
        #expect(wrong.status == ExitCode.dataError)
        #expect(wrong.errors.contains("activityId is missing") && wrong.errors.contains("eventTime must be"))
        #expect(
            try await installation.flotilla("report", "--app", "bank", "--kind", "tap").status
                == ExitCode.usage)
    }

    /// Returns a proof made by another program, as an app's own server would make it.
    private func proof(of user: String, by secret: String) async throws -> String {
        let openssl = try ChildProcess(
            "sh",
            arguments: [
                "-c", "printf %s \"$1\" | openssl dgst -sha256 -hmac \"$2\" -r | cut -d' ' -f1", "sh", user,
                secret,
            ])
        _ = try await openssl.exitStatus()
        return openssl.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Posts a report about a user, and returns the HTTP status as text.
    private func post(_ key: String, user: String, proof: String?) async throws -> String {
        let proofField = proof.map { #","userProof":"\#($0)""# } ?? ""
        let curl = try ChildProcess(
            "curl",
            arguments: [
                "-s", "-w", "%{http_code}", "-H", "Authorization: Bearer \(key)", "-d",
                #"{"environment":"production","installationId":"phone-1","kind":"profile","userId":"\#(user)"\#(proofField)}"#,
                "http://\(installation.gateway)/v1/reports",
            ])
        _ = try await curl.exitStatus()
        return String(curl.output.suffix(3))
    }

    @Test func `a secret for user proofs is shown once, required, rotated and retired`() async throws {
        try await installation.createShop()
        let key = try await installation.flotilla("keys", "create", "shop", "--role", "report").output
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let file = ["--tokens-sealing-keys-file", directory.filePath(named: "sealing-keys")]
        func userProof(_ words: String...) async throws -> Answer {
            try await installation.flotilla(["apps", "user-proof", "shop"] + words + file)
        }
        #expect(try await userProof("--require", "yes").status == ExitCode.usage, "there is no secret yet")

        // The first secret. The keys of an installation that runs on this machine are found without a setting.
        let made = try await installation.flotilla("apps", "user-proof", "shop", "--new")
        let first = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(first.count == 64)
        #expect(try await userProof("--require", "yes").status == 0)
        let annByFirst = try await proof(of: "ann", by: first)
        try await eventually("the gateway requires proofs") {
            try await post(key, user: "ann", proof: nil) == "422"
        }
        #expect(try await post(key, user: "ann", proof: annByFirst) == "202")
        #expect(try await post(key, user: "bob", proof: annByFirst) == "422")

        // A second secret beside it, and then without the first one.
        let second = try await userProof("--new").output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(try await userProof("--new").status == ExitCode.usage, "two secrets are the limit")
        let annBySecond = try await proof(of: "ann", by: second)
        try await eventually("the gateway knows the second secret") {
            try await post(key, user: "ann", proof: annBySecond) == "202"
        }
        #expect(try await post(key, user: "ann", proof: annByFirst) == "202")
        #expect(try await userProof("--retire").status == 0)
        try await eventually("the first secret is invalid") {
            try await post(key, user: "ann", proof: annByFirst) == "422"
        }
        #expect(try await post(key, user: "ann", proof: annBySecond) == "202")

        // A change of the app keeps the secrets, and no output shows them.
        let updated = try await installation.flotilla(
            "apps", "update", "shop", "--environments", "production,sandbox", "--json")
        #expect(updated.status == 0 && !updated.output.contains("userProof"))
        let shown = try await userProof()
        #expect(shown.output.contains("1 secrets") && shown.output.contains("needs a proof"))
        let catalog = try await kcat("catalog")
        #expect(!catalog.contains(first) && !catalog.contains(second))
        #expect(try await userProof("--off").status == ExitCode.usage, "it must be confirmed")
        #expect(try await userProof("--off", "--yes").status == 0)
        try await eventually("no proof is required") { try await post(key, user: "bob", proof: nil) == "202" }
    }

    @Test func `schedules without a proof are allowed until this is changed`() async throws {
        try await installation.createShop()
        let allowed = try await installation.flotilla(
            "apps", "update", "shop", "--unproven-schedules", "yes", "--json")
        #expect(allowed.status == 0 && allowed.output.contains(#""unprovenSchedules":true"#), "\(allowed)")
        let unclear = try await installation.flotilla("apps", "update", "shop", "--unproven-schedules", "on")
        #expect(
            unclear.status == ExitCode.usage
                && unclear.errors.contains("--unproven-schedules takes yes or no"))
        let kept = try await installation.flotilla(
            "apps", "update", "shop", "--environments", "production", "--json")
        #expect(kept.output.contains(#""unprovenSchedules":true"#), "another change keeps it")
        let ended = try await installation.flotilla(
            "apps", "update", "shop", "--unproven-schedules", "no", "--json")
        #expect(ended.status == 0 && !ended.output.contains("unprovenSchedules"), "\(ended)")
    }

    @Test func `a report by hand is sealed with the installation's keys, and other keys are refused`()
        async throws
    {
        try await installation.createShop()
        let report = [
            "report", "--app", "shop", "--installation-id", "phone-1", "--kind", "startToken", "--token",
            "c0ffee", "--tokens-sealing-keys-file",
        ]
        let sealed = try await installation.flotilla(report + [directory.filePath(named: "sealing-keys")])
        #expect(sealed.status == 0, "\(sealed.errors)")
        let stored = try await kcat("reports")
        #expect(stored.contains(#""token":"s1."#) && !stored.contains("c0ffee"))
        let digits = String(repeating: "0a", count: 32)
        let others = try directory.writeFile(named: "others", content: "hash \(digits)\nkey 1 \(digits)\n")
        let refused = try await installation.flotilla(report + [others])
        #expect(
            refused.status == ExitCode.configuration
                && refused.errors.contains("not this installation's sealing keys"))
        let gateway = [
            "run", "gateway", "--data", directory.filePath(named: "run"), "--gateway-listen", "127.0.0.1:0",
            "--admin-listen", "127.0.0.1:0", "--topics-replication", "1",
        ]
        let withOtherKeys = try await installation.flotilla(gateway + ["--tokens-sealing-keys-file", others])
        #expect(withOtherKeys.status == ExitCode.configuration)
        #expect(withOtherKeys.errors.contains("not this installation's sealing keys"))
        let withoutKeys = try await installation.flotilla(gateway)
        #expect(withoutKeys.status == ExitCode.configuration)
        #expect(withoutKeys.errors.contains("name the file with tokens.sealing-keys-file"))
    }
}
