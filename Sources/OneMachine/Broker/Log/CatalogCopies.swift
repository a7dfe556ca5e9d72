internal import Glibc

/// The catalog's two files: `catalog` beside the logs, and a second copy among them. Both are replaced
/// durably, the first one first, so that the second is older by at most the change under way.
struct CatalogCopies {
    static let fileName = "catalog"

    /// The state of one of the files.
    enum CopyState: Equatable {
        case missing
        case damaged
        case unreadable(DiskError)
        case sound(TopicCatalog)
    }

    let first: String
    let second: String
    private let disk: Disk

    init(in path: String, disk: Disk) {
        first = path + "/" + Self.fileName
        second = path + "/logs/" + Self.fileName
        self.disk = disk
    }

    func readCopy(at path: String) -> CopyState {
        do throws(DiskError) {
            guard let bytes = try disk.contents(of: path) else { return .missing }
            return TopicCatalog(decoding: bytes).map { .sound($0) } ?? .damaged
        } catch {
            return .unreadable(error)
        }
    }

    /// Returns the valid catalog, or nil for a new data directory, which has no catalog and no logs.
    ///
    /// A read that fails is not a missing file: it may succeed later, and then the file knows more than
    /// the second copy. So the broker does not start until a person has looked at it.
    static func choose(
        first: CopyState, second: CopyState, hasLogs: Bool, of copies: CatalogCopies
    ) throws(TopicStoreError) -> TopicCatalog? {
        switch (first, second) {
        case (.unreadable(let error), _):
            throw .unreadableCatalog(error, second: copies.second)
        case (.sound(let first), .sound(let second)):
            guard first.clusterID == second.clusterID else {
                throw .mixedCatalogs(copies.first, copies.second)
            }
            return second.revision > first.revision ? second : first
        case (.sound(let catalog), _), (_, .sound(let catalog)): return catalog
        case (_, .unreadable(let error)): throw .unreadableCatalog(error, second: copies.second)
        case (.missing, .missing):
            guard !hasLogs else { throw .missingCatalog(path: copies.first) }
            return nil
        case (.damaged, _): throw .damagedCatalog(path: copies.first)
        case (.missing, .damaged): throw .damagedCatalog(path: copies.second)
        }
    }

    func saveFirst(_ catalog: TopicCatalog) throws(DiskError) {
        try disk.replace(first, with: catalog.encoded())
    }

    func saveSecond(_ catalog: TopicCatalog) throws(DiskError) {
        try disk.replace(second, with: catalog.encoded())
    }
}
