/// Makes a data directory fit to start again, while no broker runs on it. It removes no record: what
/// is in the way moves to `set-aside`.
package final class StoreRepair {
    static let setAsideName = "set-aside"

    private let path: String
    private let disk: Disk
    private let lock: StoreLock
    private let copies: CatalogCopies

    package init(path: String, disk: Disk = Disk()) throws(TopicStoreError) {
        self.path = path
        self.disk = disk
        lock = try StoreLock(path, disk)
        copies = CatalogCopies(in: path, disk)
    }

    /// Finds what keeps the broker from starting.
    package func plan() throws(TopicStoreError) -> RepairPlan {
        let found: [LogDirectory]
        do throws(DiskError) {
            found = try disk.names(in: path + "/logs").compactMap { LogDirectory($0) }
        } catch {
            throw .disk(error)
        }
        do throws(TopicStoreError) {
            let catalog = try CatalogCopies.choose(
                first: copies.read(copies.first), second: copies.read(copies.second),
                hasLogs: !found.isEmpty, of: copies)
            if let catalog { return RepairPlan(catalog, found: found) }
        } catch {
            switch error {
            case .damagedCatalog, .missingCatalog: break
            default: throw error
            }
        }
        var generator = SystemRandomNumberGenerator()
        return RepairPlan(
            rebuilding: ClusterID.random(using: &generator), found: found, using: &generator)
    }

    /// Carries a plan out. After a crash at any step, a new plan finds the steps that are left. The
    /// catalog comes last, when all directories that it names exist.
    package func carryOut(_ plan: RepairPlan) throws(TopicStoreError) {
        do throws(DiskError) {
            if !plan.setAside.isEmpty {
                let aside = path + "/" + Self.setAsideName
                try disk.makeDirectory(aside)
                for directory in plan.setAside {
                    try disk.rename(path + "/logs/" + directory.name, to: aside + "/" + directory.name)
                }
                try disk.syncDirectory(aside)
                try disk.syncDirectory(path)
            }
            for directory in plan.made { try disk.makeDirectory(path + "/logs/" + directory.name) }
            try disk.syncDirectory(path + "/logs")
            guard let catalog = plan.catalog else { return }
            try copies.saveFirst(catalog)
            try copies.saveSecond(catalog)
        } catch {
            throw .disk(error)
        }
    }
}
