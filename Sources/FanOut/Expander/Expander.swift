package import LiveActivity
package import Registry
package import Store

/// Turns what lies in a lane's `expansions` into jobs, page by page. It reads the lane's registry and its rows
/// of `starts`, changes the latter, and gathers jobs and records in `output`; a shell around it writes all of a
/// turn in one transaction with the offsets behind it.
///
/// A lane's order of work is the shell's to choose, and so is a page's size: whatever they are, every phone
/// ends on the newest state of its scope, and no installation gets a second start in a life. That rests on
/// versions, which planners give in one order for each recipient, and on rows that are committed with the
/// jobs that they speak of.
package struct Expander<Table: LaneTable>: ~Copyable {
    package let lane: Int
    package let registry: Lane
    package var table: Table
    package var output: JobOutput
    /// Milliseconds since 1970.
    package internal(set) var now: Int64 = 0
    private(set) var latest: Int64 = 0
    private(set) var catalog: any ExpanderCatalog
    private var asked: (id: String, app: App?)?
    /// Recipients of a list that are walked together.
    let recipientsAtATime: Int
    /// A key of the table in hand.
    var key: [UInt8] = []
    /// While news are heard.
    var heardGroup: HeardGroup?
    /// Bodies of this turn that others can share; nil for one that APNs would not take.
    var variants: [VariantName: JobOutput.Variant?] = [:]
    var passing: PassedUpdates

    /// - Parameter isNew: no process has expanded anything of the lane before.
    package init(
        lane: Int, _ registry: Lane, _ table: Table, catalog: any ExpanderCatalog, isNew: Bool,
        jobsPerSheet: Int, recipientsAtATime: Int = 256
    ) {
        passing = PassedUpdates(mayBeSome: !isNew)
        self.recipientsAtATime = recipientsAtATime
        self.lane = lane
        self.registry = registry
        self.table = table
        self.catalog = catalog
        output = JobOutput(jobsPerSheet: jobsPerSheet)
    }

    /// A transaction begins: what the one before it made is written, or will be made again.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970: a time that has come.
    ///   - latest: no earlier than it is, as far as anybody knows: when starts begin.
    package mutating func begin(at now: Int64, atLatest latest: Int64, catalog: any ExpanderCatalog) {
        self.now = now
        self.latest = latest
        self.catalog = catalog
        asked = nil
        output.removeAll()
        variants.removeAll(keepingCapacity: true)
    }

    /// Whether what is not wanted after a time, in seconds since 1970, is still wanted.
    func isWanted(until deadline: Int64) -> Bool { deadline > now / 1000 }

    // MARK: Events

    /// The next page of an expansion. What is left of it is among the output's continuations; when nothing is,
    /// the closing record is there.
    ///
    /// - Parameters:
    ///   - rowsMax: tokens to look at, roughly.
    ///   - page: room for them.
    /// - Returns: how many were looked at.
    package mutating func expand(
        _ expansion: Expansion, isUrgent: Bool, rowsMax: Int, page: inout TokenPage
    ) throws(StoreError) -> Int {
        guard let app = app(expansion.key.app) else {
            close(expansion)
            return 0
        }
        var expansion = expansion
        let name = expansion.key.bytes
        if expansion.cursor == nil {
            if try passes(expansion, under: name) {
                close(expansion)
                return 0
            }
            if try mustWait(&expansion, under: name) {
                output.goOn(expansion, lane: lane, isUrgent: false)
                return 0
            }
            if isUrgent { try noteEnd(expansion, under: name) }
            try nameRecipients(of: &expansion, app, by: &page)
            if !expansion.dryRun { try begin(with: expansion, under: name, isUrgent: isUrgent) }
        }
        var walk = Walk(expansion, app, isUrgent: isUrgent, rowsMax: rowsMax)
        let next =
            if case .recipients(let list) = expansion.targets {
                try goThrough(list, of: &walk, under: name, by: &page)
            } else {
                try goThroughAll(of: &walk, under: name, by: &page)
            }
        if !walk.expansion.dryRun { try note(next, of: walk.expansion, under: name) }
        if let next {
            walk.expansion.cursor = next.bytes
            output.goOn(walk.expansion, lane: lane, isUrgent: isUrgent)
        } else {
            close(walk.expansion)
        }
        return walk.rows
    }

    private mutating func close(_ expansion: Expansion) {
        if !expansion.isAnswer { output.close(expansion, lane: lane, at: now) }
    }

    /// A send was taken back. What of it is still to come is dropped when its turn comes, in this process or
    /// the next. An end is not stopped: its planner has closed the scope, and half of a group must not live on.
    package mutating func stop(_ stop: Stop) throws(StoreError) {
        let key = stop.key.bytes
        var scope = try table.scope(key) ?? .unheard
        if scope.cancelled.contains(stop.send) { return }
        if scope.cancelled.count >= LaneScope.cancelledMax { scope.cancelled.removeFirst() }
        scope.cancelled.append(stop.send)
        set(scope, under: key)
    }

    /// As the catalogue has it. One that is asked for is mostly asked for again.
    private mutating func app(_ id: String) -> App? {
        if let asked, asked.id.isExactly(id) { return asked.app }
        let app = catalog.app(id)
        asked = (id, app)
        return app
    }

    mutating func set(_ scope: LaneScope, under key: [UInt8]) {
        var scope = scope
        scope.at = now
        table.set(scope, under: key)
    }
}

/// One expansion on its way through a page.
struct Walk {
    var expansion: Expansion
    let app: App
    let isUrgent: Bool
    let rowsMax: Int
    var rows = 0
    /// Of recipients that are named: those of whom a token was met.
    var reached: Set<[UInt8]> = []

    init(_ expansion: Expansion, _ app: App, isUrgent: Bool, rowsMax: Int) {
        self.expansion = expansion
        self.app = app
        self.isUrgent = isUrgent
        self.rowsMax = rowsMax
    }

    var rowsLeft: Int { rowsMax - rows }
}
