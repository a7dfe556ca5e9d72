internal import Lifecycle
internal import Settings

extension Command {
    /// `flotilla doctor`: checks whether a process with these settings could work, before it is started.
    static let doctor = Command(
        name: "doctor",
        summary: "Checks settings, keys, files, Kafka, topics, clocks and APNs, and says what to correct.",
        usage: "[--no-push] [--json]",
        example: "flotilla doctor --kafka-brokers kafka-1:9092 --sender-keys /etc/flotilla/keys",
        settings: ["kafka.", "topics.", "tokens.", "sender.", "up."],
        options: [
            .flag(
                "--no-push",
                "does not contact APNs; otherwise each app's key is tried with a token of no phone"
            ),
            .flag("--json", "prints one JSON object per line instead of a table"),
        ]
    ) { invocation in
        try invocation.requireNoPositionals()
        let doctor = Doctor(
            settings: invocation.settings, contactsAPNs: !invocation.hasOption("--no-push"))
        let findings = await doctor.runChecks()
        if invocation.isJSON {
            for finding in findings { print(finding.json) }
        } else {
            print(Table(headers: ["", "subject", "found"], rows: findings.map(\.cells)).text)
        }
        let wrongCount = findings.count { $0.verdict == .wrong }
        if wrongCount > 0 {
            throw CommandError(
                status: .configuration, wrongCount == 1 ? "one check failed" : "\(wrongCount) checks failed")
        }
    }
}
