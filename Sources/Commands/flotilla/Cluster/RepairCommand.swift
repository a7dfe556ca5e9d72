internal import Broker
internal import Lifecycle
internal import Settings

extension Command {
    /// `flotilla repair`: repairs the files of an embedded broker that refuses to start. First the catalog of
    /// the topics is made to fit the directories, then damaged ranges of the logs are replaced.
    static let repair = Command(
        name: "repair",
        summary: "Repairs the data directory of an embedded broker that does not run; no record is removed.",
        usage: "--data DIR [--dry-run] [--yes]",
        example: "flotilla repair --data /var/lib/flotilla/broker --dry-run",
        namespace: "broker", settings: ["broker.data"],
        options: [
            .flag("--dry-run", "shows the steps and changes nothing"),
            .flag("--yes", "does it without asking"),
        ]
    ) { invocation in
        try invocation.requireNoPositionals()
        let directory = invocation.settings[BrokerSettings.self].dataDirectory
        guard !directory.isEmpty else {
            throw CommandError(status: .usage, "broker.data is not set; name a directory with --data")
        }
        let isDryRun = invocation.isDryRun
        let didCatalogNeedRepair = try repairCatalog(in: directory, isDryRun: isDryRun, for: invocation)
        // The damage of the logs can only be found with a catalog that fits.
        if isDryRun, didCatalogNeedRepair { return }
        let damage = try StoreRepair(path: directory).findDamage()
        guard !damage.isEmpty else {
            return print(didCatalogNeedRepair ? "start the broker" : "the data directory needs no repair")
        }
        print(damage.map(\.description).joined(separator: "\n"))
        if isDryRun { return }
        try invocation.confirm(orElse: "no batch was replaced")
        // No other thread waits for results of the store, so `wake` does nothing.
        let replacedRanges = try TopicStore(path: directory, wake: {}).replaceDamage()
        print(
            "\(replacedRanges.count) ranges are replaced; each damaged file stays beside its log as .damaged")
    }

    /// Prints the plan for the catalog and, unless this is a dry run, carries it out. Returns false if the
    /// catalog and the directories fit together.
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
