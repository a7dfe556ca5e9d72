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
        try invocation.requireNoPositionals()
        let directory = invocation.settings[BrokerSettings.self].dataDirectory
        guard !directory.isEmpty else {
            throw CommandError(status: .usage, "broker.data is not set; name a directory with --data")
        }
        let isDryRun = invocation.options["--dry-run"] != nil
        let isCatalogRepaired = try repairCatalog(in: directory, isDryRun: isDryRun, for: invocation)
        guard !isDryRun || !isCatalogRepaired else { return }
        let damage = try StoreRepair(path: directory).findDamage()
        guard !damage.isEmpty else {
            return print(isCatalogRepaired ? "start the broker" : "the data directory needs no repair")
        }
        print(damage.map(\.description).joined(separator: "\n"))
        if isDryRun { return }
        try invocation.confirm(orElse: "no batch was replaced")
        let replaced = try TopicStore(path: directory) {}.replaceDamage()
        print("\(replaced.count) ranges are replaced; each damaged file stays beside its log as .damaged")
    }

    /// Returns whether the catalog and the directories did not fit together.
    private static func repairCatalog(
        in directory: String, isDryRun: Bool, for invocation: Invocation
    ) throws -> Bool {
        let repair = try StoreRepair(path: directory)
        let plan = try repair.plan()
        guard !plan.isEmpty else { return false }
        print(plan.sentences.joined(separator: "\n"))
        if isDryRun { return true }
        try invocation.confirm(orElse: "nothing was changed")
        try repair.apply(plan)
        return true
    }
}
