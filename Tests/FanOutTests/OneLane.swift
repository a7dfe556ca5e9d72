import FanOut
import Identifiers
import InstallationRecords
import JSON
import Payloads
import ProcessTesting
import RecordFormat
import Registry
import Sends
import Store

/// A lane without crashes, for tests of single rules. Each call takes effect at once.
final class OneLane {
    private var topic = VirtualLane()
    private var owner: LaneOwner
    private let directory: TemporaryDirectory
    private(set) var jobs: [Job] = []
    private(set) var sheets = 0
    private(set) var progress: [ProgressRecord] = []
    private(set) var subscriptions: [Subscription] = []
    /// Milliseconds since 1970.
    var now = dawn * 1000
    private var tokens = 0

    /// - Parameter starts: the rows of `starts` that the lane has from the beginning.
    init(
        jobsPerSheet: Int = 3, catalog: OneApp = OneApp(), starts: [(key: ScopeKey, value: String)] = []
    ) throws {
        topic.starts = starts.map { ($0.key.bytes, Array($0.value.utf8)) }
        directory = try TemporaryDirectory()
        owner = try LaneOwner(
            lane: 0, directory: directory.path, topics: topic, jobsPerSheet: jobsPerSheet, catalog: catalog)
    }

    var starts: [(key: [UInt8], value: [UInt8])] { topic.starts }
    /// The number of expansions that are not finished.
    var unfinishedExpansions: Int { topic.walks.count - topic.committed.walks }

    /// Reports a token of a phone. A phone reports the activity of an update token in the group `match`, unless
    /// `change` says otherwise.
    ///
    /// - Parameter user: the user of the phone. Without a user the recipient is the installation.
    func reportToken(
        of installation: String, user: String? = nil, _ entry: RegistryKey.Entry,
        _ change: (inout TokenRow) -> Void = { _ in }
    ) throws {
        tokens += 1
        let digits = String(tokens, radix: 16)
        let hash = String(repeating: "0", count: 32 - digits.count) + digits
        var row = TokenRow(
            environment: .production, token: hash, tokenHash: hash, attributesType: "Match",
            registeredAt: now)
        if case .update = entry { row.group = "match" }
        change(&row)
        let key = RegistryKey(
            app: "shop", recipient: user.map(Recipient.user) ?? .installation(installation),
            installation: installation, entry: entry)
        topic.registry.append(VirtualLane.Record(key: key.bytes, value: row.encoded()))
        try run()
    }

    /// Reports the tags of a phone.
    func reportProfile(of installation: String, tags: [String]) throws {
        let key = RegistryKey(
            app: "shop", recipient: .installation(installation), installation: installation, entry: .profile)
        topic.registry.append(
            VirtualLane.Record(key: key.bytes, value: ProfileRow(tags: tags, updatedAt: now).encoded()))
        try run()
    }

    /// Brings the lane the answer to a subscription.
    func apply(_ answer: SubscriptionAnswer) throws {
        topic.arrivals.append(answer.encoded())
        try run(arrivals: 1)
    }

    /// Looks through these groups as after an assignment of the lane.
    func subscribe(to groups: [String]) throws {
        commit(try owner.subscribe(to: groups, on: topic, now: now))
    }

    func unregister(_ installation: String, user: String? = nil, _ entry: RegistryKey.Entry) throws {
        let key = RegistryKey(
            app: "shop", recipient: user.map(Recipient.user) ?? .installation(installation),
            installation: installation, entry: entry)
        topic.registry.append(VirtualLane.Record(key: key.bytes, value: nil))
        try run()
    }

    /// Expands the first page, or all pages, of an expansion.
    func expand(_ expansion: Expansion, rowsMax: Int = 1000, toTheEnd: Bool = true) throws {
        try expandAtOnce([expansion], rowsMax: rowsMax)
        while toTheEnd, !topic.isDone { try expandNextPage(rowsMax: rowsMax) }
    }

    /// Runs the first pages of these expansions in one transaction.
    func expandAtOnce(_ expansions: [Expansion], rowsMax: Int = 1000) throws {
        topic.arrivals += expansions.map { $0.encoded() }
        try run(arrivals: expansions.count, rowsMax: rowsMax)
    }

    /// Gives the lane the rest of a walk that an earlier version of this program has written.
    func resume(_ rest: Expansion) throws {
        topic.walks.append(rest.encoded())
        try expandRemainingPages()
    }

    /// Expands the next page of the first unfinished expansion.
    func expandNextPage(rowsMax: Int = 1000) throws { try run(walks: 1, rowsMax: rowsMax) }

    /// Expands page by page until no expansion is unfinished.
    func expandRemainingPages(rowsMax: Int = 1000) throws {
        while unfinishedExpansions > 0 { try expandNextPage(rowsMax: rowsMax) }
    }

    func stop(_ send: String, _ key: ScopeKey) throws {
        topic.arrivals.append(StopInstruction(send: send, key: key).encoded())
        try run(arrivals: 1)
    }

    private func run(arrivals: Int = 0, walks: Int = 0, rowsMax: Int = 1000) throws {
        commit(
            try owner.run(
                LaneOwner.Plan(
                    registryUpTo: topic.registry.count, takesArrivals: arrivals > 0,
                    expansions: arrivals + walks, rowsMax: rowsMax), on: topic, now: now))
    }

    /// Runs one pass through `starts` that sends the safety ENDs that are due.
    func sendSafetyEnds() throws { commit(try owner.sendSafetyEnds(on: topic, now: now)) }

    private func commit(_ outcome: LaneOwner.Outcome) {
        topic.committed = outcome.committed
        topic.starts += outcome.starts
        topic.walks += outcome.walks
        jobs += outcome.jobs
        sheets += outcome.sheets
        progress += outcome.progress
        subscriptions += outcome.subscriptions
    }

    /// Returns the jobs since the last call.
    func takeJobs() -> [Job] {
        let taken = jobs
        jobs = []
        return taken
    }

    /// Returns the states in the bodies of the jobs since the last call.
    func takeStates() -> [String?] { takeJobs().map { Push($0.body).state } }

    /// The tally of the expansion that ended last.
    var tally: LaneTally {
        if case .lanes(_, let tally) = progress.last?.part { tally } else { LaneTally() }
    }

    deinit { try? owner.close() }
}

/// Returns an expansion. Its generation and its version are numbers of seconds after `dawn`, which are easy to compare.
/// Without `targets`, a start is for everyone, and an update or an END for the group.
///
/// - Parameter generation: 0 for a group without a start.
func makeExpansion(
    _ event: PushEvent, to targets: Expansion.Targets? = nil, key: ScopeKey = match, generation: Int64 = 0,
    version: Int64, state: Int = 0, send: String = "s"
) -> Expansion {
    let template = makeSend(event, state: state)
    return Expansion(
        send: send, key: key, targets: targets ?? (event == .start ? .everyone : .group),
        content: template.content, priority: .immediate, generation: generation == 0 ? 0 : dawn + generation,
        version: dawn + version, deadline: dawn + 3600, expiration: dawn + 3600, acceptedAt: dawn * 1000)
}

let match = ScopeKey(app: "shop", group: "match")
