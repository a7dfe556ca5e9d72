internal import CatalogRecords
internal import Identifiers
package import Registry
package import Sends
package import Store

/// The expander of a lane, which turns its `expansions` into jobs page by page. It reads the lane's registry
/// and its rows of `starts`, and changes the latter. It collects jobs and records in `output`. The loop
/// writes all of it in one transaction with the next offsets.
///
/// The lane begins expansions in the order of their group, and the loop chooses the order and the size of the pages
/// that walk them. In any order of pages every phone ends on the newest state of its scope, and no installation gets a
/// second start in a generation, because rows are committed with their jobs.
package struct Expander<Table: ScopeTable>: ~Copyable {
    package let lane: Int
    package let registry: Lane
    package var table: Table
    package var output: JobOutput
    /// Milliseconds since 1970.
    package internal(set) var now: Int64 = 0
    /// An upper bound of the time, in milliseconds since 1970.
    private(set) var latest: Int64 = 0
    private(set) var catalog: any ExpanderCatalog
    private var lastApp: (id: String, app: App?)?
    /// The number of recipients of a list that are walked together.
    let recipientsAtATime: Int
    /// The memory for the key of the table's row that is read or written now.
    var rowKey: [UInt8] = []
    /// The group of the previous token, while `catchUp` takes the registry's news.
    var cachedGroup: CachedGroup?
    /// The pushes of this transaction, and those that APNs would refuse because of their size.
    var variants: [SharedPush: JobOutput.Variant] = [:]
    var oversizePushes: Set<SharedPush> = []

    package init(
        lane: Int, _ registry: Lane, _ table: Table, catalog: any ExpanderCatalog, jobsPerSheet: Int,
        recipientsAtATime: Int = 256
    ) {
        self.recipientsAtATime = recipientsAtATime
        self.lane = lane
        self.registry = registry
        self.table = table
        self.catalog = catalog
        output = JobOutput(jobsPerSheet: jobsPerSheet)
    }

    /// Begins a transaction. The previous one is written or will be repeated.
    ///
    /// - Parameters:
    ///   - now: a time that has certainly come, in milliseconds since 1970.
    ///   - latest: an upper bound of the cluster's clock, in milliseconds since 1970. The ledger notes it as the time
    ///     of a start, so that no activity counts as older than it is.
    package mutating func begin(at now: Int64, atLatest latest: Int64, catalog: any ExpanderCatalog) {
        self.now = now
        self.latest = latest
        self.catalog = catalog
        lastApp = nil
        output.removeAll()
        variants.removeAll(keepingCapacity: true)
        oversizePushes.removeAll()
    }

    /// Whether a deadline, in seconds since 1970, has not passed.
    func isWanted(until deadline: Int64) -> Bool { deadline > now / 1000 }

    // MARK: Events

    /// Expands the next page of an expansion. The rest of it goes to the output's continuations. If there is
    /// no rest, the output gets the closing record.
    ///
    /// - Parameters:
    ///   - rowsMax: the approximate number of tokens to walk.
    ///   - isTimeLeft: whether there is time for more tokens. The first ones of a page are walked even without time.
    ///   - page: memory for the tokens.
    /// - Returns: the number of tokens that were walked.
    package mutating func expand(
        _ expansion: Expansion, rowsMax: Int, while isTimeLeft: @escaping () -> Bool = { true },
        page: inout TokenPage
    ) throws(StoreError) -> Int {
        guard let app = app(expansion.key.app) else {
            close(expansion)
            return 0
        }
        var expansion = expansion
        let scopeKey = expansion.key.bytes
        let isFirstPage = expansion.cursor == nil
        if isFirstPage {
            if try skips(expansion, under: scopeKey) {
                close(expansion)
                return 0
            }
            try begin(&expansion, under: scopeKey, app, by: &page)
        }
        var walk = ExpansionWalk(
            expansion: expansion, app: app, isFirstPage: isFirstPage, rowsMax: rowsMax, isTimeLeft: isTimeLeft
        )
        let next =
            if case .recipients(let list) = expansion.targets {
                try walkList(list, of: &walk, under: scopeKey, by: &page)
            } else {
                try walkAudience(of: &walk, under: scopeKey, by: &page)
            }
        if !walk.expansion.isDryRun { try note(next, of: walk.expansion, under: scopeKey) }
        if let next {
            walk.expansion.cursor = next.walkBytes
            output.addContinuation(of: walk.expansion)
        } else {
            close(walk.expansion)
        }
        return walk.rows
    }

    /// Reports that the lane is done with an expansion. For an answer to a subscription nothing is reported, because it
    /// repeats an expansion that is reported already.
    private mutating func close(_ expansion: Expansion) {
        if expansion.targets != .newMembers { output.addCompletion(of: expansion, lane: lane, at: now) }
    }

    /// Cancels a send: notes it in the scope's row. Its walk goes on, but makes no more jobs, also after a restart: the
    /// decision for each recipient reads the note. For an END the note has no effect (`Expansion.isCancelled`), because
    /// the planner has closed the scope, and half of the group must not stay open.
    package mutating func stop(_ stop: StopInstruction) throws(StoreError) {
        let key = stop.key.bytes
        // A group without a row is one to which the lane has not subscribed.
        var scope = try table.scope(for: key) ?? .unsubscribed
        if scope.cancelledSends.contains(stop.send) { return }
        if scope.cancelledSends.count >= LaneScope.cancelledSendsMax { scope.cancelledSends.removeFirst() }
        scope.cancelledSends.append(stop.send)
        set(scope, under: key)
    }

    /// Returns the app from the catalog. The same app is usually asked for again.
    private mutating func app(_ id: String) -> App? {
        if let lastApp, lastApp.id.isExactlyEqual(to: id) { return lastApp.app }
        let app = catalog.app(id)
        lastApp = (id, app)
        return app
    }

    mutating func set(_ scope: LaneScope, under key: [UInt8]) {
        var scope = scope
        scope.writtenAt = now
        table.set(scope, under: key)
    }
}

/// One expansion that is being walked.
struct ExpansionWalk {
    var expansion: Expansion
    let app: App
    let isFirstPage: Bool
    let rowsMax: Int
    let isTimeLeft: () -> Bool
    var rows = 0
    /// The named recipients for which a token was found.
    var reached: Set<[UInt8]> = []

    var rowsLeft: Int { rowsMax - rows }
    /// Whether the page of the walk may get more tokens.
    var mayContinue: Bool { rowsLeft > 0 && isTimeLeft() }
}
