package import Catalog
internal import CatalogRecords
internal import Identifiers
package import Registry
package import Sends
package import Store

/// The expander of a lane, which turns its `expansions` into jobs page by page. It reads the lane's registry and its
/// rows of `starts`, and changes the latter. It collects jobs and records in `output`. The loop writes all of it in one
/// transaction with the next offsets.
///
/// The lane begins expansions in the order of their group, and the loop chooses the order and the size of the pages
/// that walk them. In any order of pages every phone ends on the newest state of its scope, and no installation gets a
/// second start in a generation, because rows are committed with their jobs.
package final class Expander<Table: ScopeTable> {
    package let lane: Int
    package let registry: Lane
    package var table: Table
    package var output: JobOutput
    /// The memory for the tokens of the page that is walked now.
    let buffer: PageBuffer
    /// Milliseconds since 1970.
    package internal(set) var now: Int64 = 0
    /// An upper bound of the time, in milliseconds since 1970.
    private(set) var latest: Int64 = 0
    private(set) var catalog = CatalogSnapshot()
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
        lane: Int, _ registry: Lane, _ table: Table, buffer: PageBuffer, jobsPerSheet: Int,
        recipientsAtATime: Int = 256
    ) {
        self.recipientsAtATime = recipientsAtATime
        self.lane = lane
        self.registry = registry
        self.table = table
        self.buffer = buffer
        output = JobOutput(jobsPerSheet: jobsPerSheet)
    }

    /// Begins a transaction. The previous one is written or will be repeated.
    ///
    /// - Parameters:
    ///   - now: a time that has certainly come, in milliseconds since 1970.
    ///   - latest: an upper bound of the cluster's clock, in milliseconds since 1970. The ledger notes it as the time
    ///     of a start, so that no activity counts as older than it is.
    package func beginTransaction(at now: Int64, atLatest latest: Int64, catalog: CatalogSnapshot) {
        self.now = now
        self.latest = latest
        self.catalog = catalog
        table.removeChanges()
        output.removeAll()
        variants.removeAll(keepingCapacity: true)
        oversizePushes.removeAll()
    }

    /// Whether a deadline, in seconds since 1970, has not passed.
    func isWanted(until deadline: Int64) -> Bool { deadline > now / 1000 }

    // MARK: Events

    /// Expands the next page of an expansion. The rest of it goes to the output's continuations. If there is no rest,
    /// the output gets the closing record.
    ///
    /// - Parameters:
    ///   - rowsMax: the approximate number of tokens to walk.
    ///   - isTimeLeft: whether there is time for more tokens. The first ones of a page are walked even without time.
    /// - Returns: the number of tokens that were walked.
    package func expand(
        _ expansion: Expansion, rowsMax: Int, while isTimeLeft: @escaping () -> Bool = { true }
    ) throws(StoreError) -> Int {
        guard let app = catalog.apps[expansion.key.app] else {
            close(expansion)
            return 0
        }
        var walk = ExpansionWalk(expansion, of: app, rowsMax: rowsMax, isTimeLeft: isTimeLeft)
        if walk.isFirstPage {
            if try skips(walk) {
                close(expansion)
                return 0
            }
            try begin(&walk)
        }
        walk.scope = try table.scope(for: walk.scopeKey) ?? .unsubscribed
        let next =
            if case .recipients(let list) = walk.expansion.targets { try walkList(list, of: &walk) } else {
                try walkAudience(of: &walk)
            }
        if !walk.expansion.isDryRun { try noteProgress(of: walk, nextPage: next) }
        if let next {
            walk.expansion.cursor = next.walkBytes
            output.continuations.append(walk.expansion)
        } else {
            close(walk.expansion)
        }
        return walk.rows
    }

    /// Reports that the lane is done with an expansion. For an answer to a subscription nothing is reported, because it
    /// repeats an expansion that is reported already.
    private func close(_ expansion: Expansion) {
        if expansion.targets != .newMembers { output.addCompletion(of: expansion, lane: lane, at: now) }
    }

    /// Cancels a send: notes it in the scope's row. Its walk goes on, but makes no more jobs, also after a restart: the
    /// decision for each recipient reads the note. For an END the note has no effect (`Expansion.isCancelled`), because
    /// the planner has closed the scope, and half of the group must not stay open.
    package func stop(_ stop: StopInstruction) throws(StoreError) {
        let key = stop.key.bytes
        // A group without a row is one to which the lane has not subscribed.
        var scope = try table.scope(for: key) ?? .unsubscribed
        if scope.cancelledSends.contains(stop.send) { return }
        if scope.cancelledSends.count >= LaneScope.cancelledSendsMax { scope.cancelledSends.removeFirst() }
        scope.cancelledSends.append(stop.send)
        set(scope, under: key)
    }

    // MARK: Rows

    func set(_ scope: LaneScope, under key: [UInt8]) {
        var scope = scope
        scope.writtenAt = now
        table.set(scope, under: key)
    }

    /// Calls `body` with each token of a selection. It may not read other pages.
    func forEachRow(
        of selection: TokenSelection, _ body: (borrowing TokenPageRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        var cursor: PageCursor? = PageCursor()
        while let place = cursor {
            cursor = try registry.fillPage(with: selection, from: place, into: &buffer.page)
            try buffer.page.forEachRow(body)
        }
    }
}

extension TokenPage {
    fileprivate borrowing func forEachRow(
        _ body: (borrowing TokenPageRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        for index in 0..<count { try body(self[index]) }
    }
}

/// The memory for the tokens of a page. All lanes of a loop share it, because it keeps the size of the largest page.
package final class PageBuffer {
    var page = TokenPage()

    package init() {}
}

/// One expansion while a page of it is walked.
struct ExpansionWalk {
    var expansion: Expansion
    let app: App
    let rowsMax: Int
    let isTimeLeft: () -> Bool
    let isFirstPage: Bool
    /// The key of the expansion's scope, and the scope's row.
    let scopeKey: [UInt8]
    /// The writer of the keys of the group's other rows. Nil for an activity without a group.
    let keys: LedgerKeyWriter?
    var scope = LaneScope()
    var rows = 0
    /// The ledger row of the previous start.
    var sharedStart: SharedStart?
    /// The named recipients for which a token was found.
    var reached: Set<[UInt8]> = []

    init(_ expansion: Expansion, of app: App, rowsMax: Int, isTimeLeft: @escaping () -> Bool) {
        self.expansion = expansion
        self.app = app
        self.rowsMax = rowsMax
        self.isTimeLeft = isTimeLeft
        isFirstPage = expansion.cursor == nil
        scopeKey = expansion.key.bytes
        keys = expansion.key.group.map { LedgerKeyWriter(app: expansion.key.app, group: $0) }
    }

    /// The row of the whole group. Empty for a private group, whose only row is its owner's.
    var whole: LaneScope { expansion.key.recipient == nil ? scope : LaneScope() }

    var rowsLeft: Int { rowsMax - rows }
    /// Whether the page of the walk may get more tokens.
    var mayContinue: Bool { rowsLeft > 0 && isTimeLeft() }

    /// The cursor at which the page begins.
    var cursor: PageCursor {
        expansion.cursor.flatMap { PageCursor(walkBytes: $0) }
            ?? PageCursor(ofUpdateNumber: expansion.precedingUpdates)
    }
}
