internal import Broker
internal import Lifecycle
internal import Settings

extension Command {
    /// For an operator whose embedded broker refuses to start.
    static let repair = Command(
        name: "repair",
        summary: "Repairs the data directory of an embedded broker that does not run; no record is removed.",
        usage: "--data DIR [--dry-run] [--yes]",
        example: "flotilla repair --data /var/lib/flotilla/broker --dry-run",
        namespace: "broker", settings: ["broker.data"],
        options: [
            ("--dry-run", false, "shows the steps and changes nothing"),
            ("--yes", false, "does it without asking"),
        ]
    ) { invocation in
        try invocation.refuseWords()
        let directory = invocation.settings[BrokerSettings.self].dataDirectory
        guard !directory.isEmpty else {
            throw Refusal(status: .usage, "broker.data is not set; name a directory with --data")
        }
        let repair = try StoreRepair(path: directory)
        let plan = try repair.plan()
        guard !plan.isEmpty else { return print("the data directory needs no repair") }
        print(plan.sentences.joined(separator: "\n"))
        if invocation.options["--dry-run"] != nil { return }
        try invocation.confirm(orElse: "nothing was changed")
        try repair.carryOut(plan)
        print("the data directory is repaired; start the broker")
    }
}
