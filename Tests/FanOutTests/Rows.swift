import CatalogRecords
import FanOut
import Identifiers
import JSON
import Payloads
import Sends
import Store

/// The rows of a planner in memory.
struct Rows: GroupTable, Equatable {
    var rows: [ScopeKey: GroupRow] = [:]
    var seen: [String: SendIdempotencyRow] = [:]
    var subscribedGroups: [String: SubscribedGroups] = [:]

    func row(of key: ScopeKey) throws(StoreError) -> GroupRow? { rows[key] }
    func subscribedGroups(of app: String) throws(StoreError) -> SubscribedGroups? { subscribedGroups[app] }
    func seenSend(id send: String, app: String) throws(StoreError) -> SendIdempotencyRow? {
        seen["\(app)/\(send)"]
    }
    mutating func set(_ row: GroupRow, of key: ScopeKey) { rows[key] = row }
    mutating func set(_ row: SendIdempotencyRow, send: String, app: String) {
        seen["\(app)/\(send)"] = row
    }
    mutating func set(_ groups: SubscribedGroups, of app: String) { subscribedGroups[app] = groups }
}

let shop = App(
    id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
    keyID: "KEY1234567")

/// A planner of three lanes. The length of a recipient's name decides its lane.
let planner = Planner(lanes: 3) { _, recipient in recipient.text.utf8.count % 3 }

func raw(_ text: String) -> RawJSON {
    var bytes = Array(text.utf8)
    return bytes.withUnsafeMutableBytes { RawJSON(accepted: UnsafeRawBufferPointer($0)) }
}

/// The content state in which a match has this number of goals.
func goals(_ number: Int) -> RawJSON { raw(#"{"goals":\#(number)}"#) }

/// The start of these tests, in seconds since 1970.
let dawn: Int64 = 1_763_600_000

/// Returns the version of a send that is the first of its group at a number of seconds after dawn.
func version(at seconds: Int64) -> Int64 { (dawn + seconds) * 1000 }

/// Returns a send.
///
/// - Parameter state: the number of goals in its content state.
func makeSend(
    _ event: PushEvent, to audience: Audience = .group, group: String? = "match", id: String = "s",
    state: Int = 0
) -> Send {
    var content = PushContent(event)
    content.contentState = goals(state)
    if event == .start {
        content.attributesType = "Match"
        content.attributes = raw(#"{"home":"A"}"#)
        content.alert = Alert(title: .plain("Kick-off"))
    }
    return Send(
        id: id, app: "shop", group: group, audience: audience, content: content, priority: .immediate,
        acceptedAt: dawn * 1000)
}

extension Planner {
    /// Plans a send at a number of seconds after dawn.
    func plan(_ send: Send, at seconds: Int64, in rows: inout Rows, app: App? = shop) throws -> Plan {
        try plan(.send(send), stamp: (dawn + seconds) * 1000, app: app, in: &rows)
    }

    /// Plans the cancellation of a send to the group "match" at a number of seconds after dawn.
    ///
    /// - Parameter recipient: The recipient, if the send was for one recipient only.
    func cancel(
        _ send: String, of recipient: Recipient? = nil, at seconds: Int64, in rows: inout Rows
    ) throws -> Plan {
        let cancellation = Cancellation(
            send: send, app: "shop", key: match, recipient: recipient, acceptedAt: dawn * 1000)
        return try plan(.cancellation(cancellation), stamp: (dawn + seconds) * 1000, app: shop, in: &rows)
    }
}

extension Plan {
    /// An expansion with its lanes.
    struct LaneExpansion: Equatable {
        var expansion: Expansion
        var lanes: MemberLanes
    }

    var expansions: [LaneExpansion] {
        requests.compactMap { part in
            guard case .expansion(let expansion) = part.request else { return nil }
            return LaneExpansion(expansion: expansion, lanes: part.lanes)
        }
    }
    /// The content states of all expansions.
    var states: [RawJSON?] { expansions.map(\.expansion.content.contentState) }
    var stop: StopInstruction? {
        requests.lazy.compactMap { if case .stop(let stop) = $0.request { stop } else { nil } }.first
    }
    var subscriptionAnswer: SubscriptionAnswer? {
        requests.lazy.compactMap { part in
            if case .subscriptionAnswer(let answer) = part.request { answer } else { nil }
        }.first
    }
    var verdicts: [ProgressRecord.PlannerVerdict] {
        progress.map { if case .planner(let part) = $0.part { part.verdict } else { .planned } }
    }
    var recipients: [Expansion.ScopedRecipient] {
        expansions.flatMap { part -> [Expansion.ScopedRecipient] in
            if case .recipients(let list) = part.expansion.targets { list } else { [] }
        }
    }

    /// The versions of all expansions, one per recipient if there are named recipients.
    var versions: [Int64] { eachRecipient(\.version, or: \.version) }

    /// The timestamps of all expansions, one per recipient if there are named recipients.
    var timestamps: [Int64] { eachRecipient(\.timestamp, or: \.timestamp) }

    private func eachRecipient(
        _ own: KeyPath<Expansion.ScopedRecipient, Int64>, or whole: KeyPath<Expansion, Int64>
    ) -> [Int64] {
        expansions.flatMap { part -> [Int64] in
            if case .recipients(let list) = part.expansion.targets { return list.map { $0[keyPath: own] } }
            return [part.expansion[keyPath: whole]]
        }
    }
}

/// A value that the test needs is absent.
struct Missing: Error {}
