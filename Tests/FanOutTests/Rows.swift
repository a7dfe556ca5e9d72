import FanOut
import LiveActivity
import Store

/// A planner's rows in memory.
struct Rows: GroupTable, Equatable {
    var rows: [GroupKey: GroupRow] = [:]
    var seen: [String: SeenSend] = [:]

    func row(of key: GroupKey) throws(StoreError) -> GroupRow? { rows[key] }
    func seen(_ send: String, app: String) throws(StoreError) -> SeenSend? { seen["\(app)/\(send)"] }
    mutating func set(_ row: GroupRow, of key: GroupKey) { rows[key] = row }
    mutating func set(_ seen: SeenSend, send: String, app: String) { self.seen["\(app)/\(send)"] = seen }
}

let shop = App(
    id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
    keyID: "KEY1234567")

/// A planner of three lanes, in which a recipient lies by the length of its name.
let planner = Planner(lanes: 3) { _, recipient in recipient.text.utf8.count % 3 }

func raw(_ text: String) -> RawJSON {
    var bytes = Array(text.utf8)
    return bytes.withUnsafeMutableBytes { RawJSON(accepted: UnsafeRawBufferPointer($0)) }
}

/// Seconds since 1970 at which these tests begin.
let dawn: Int64 = 1_763_600_000

func makeSend(
    _ event: PushEvent, to audience: Audience = .group, group: String? = "match", id: String = "s",
    state: Int = 0
) -> Send {
    var content = PushContent(event)
    content.contentState = raw(#"{"goals":\#(state)}"#)
    if event == .start {
        content.attributesType = "Match"
        content.attributes = raw(#"{"home":"A"}"#)
        content.alert = Alert(title: .plain("Kick-off"))
    }
    return Send(
        id: id, app: "shop", group: group, audience: audience, content: content, priority: 10,
        acceptedAt: dawn * 1000)
}

extension Planner {
    /// At so many seconds after dawn.
    func plan(_ send: Send, at seconds: Int64, in rows: inout Rows, app: App? = shop) throws -> Plan {
        try plan(.send(send), stamp: (dawn + seconds) * 1000, app: app, in: &rows)
    }
}

extension Plan {
    var verdicts: [Progress.Verdict] {
        progress.map { if case .verdict(let part) = $0.part { part.verdict } else { .planned } }
    }
    var recipients: [Expansion.ScopedRecipient] {
        parts.flatMap { part -> [Expansion.ScopedRecipient] in
            if case .recipients(let list) = part.expansion.targets { list } else { [] }
        }
    }

    /// Of all that is expanded, by recipient where it is for some.
    var versions: [Int64] {
        parts.flatMap { part -> [Int64] in
            if case .recipients(let list) = part.expansion.targets { return list.map(\.version) }
            return [part.expansion.version]
        }
    }
}
