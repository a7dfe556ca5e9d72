package import LiveActivity
internal import Simulation

/// Random sends of all kinds to many groups. A quiet group gets so few sends that none has to wait. A busy
/// group gets sends faster than its versions may advance.
package struct SendMix {
    /// The number of sends to one quiet group. Even if all come in one second, its versions do not run too
    /// far ahead.
    private static let quietSends = 5
    private static let busyGroups = 8

    package struct Sent: Sendable {
        package let request: SendRequest
        package var key: [UInt8] { request.scopeKey?.bytes ?? [] }

        package var value: [UInt8] {
            switch request {
            case .send(let send): send.encoded()
            case .cancellation(let cancel): cancel.encoded()
            case .groupState(let enquiry): enquiry.encoded()
            }
        }
    }

    private var chance: SeededGenerator
    private var number = 0
    /// A record to send again, as a client does without an answer.
    private var again: Sent?
    private var lastOf: [String: String] = [:]

    package init(seed: UInt64) { chance = SeededGenerator(seed) }

    package static func isBusy(_ key: ScopeKey) -> Bool { key.group?.hasPrefix("busy") ?? false }

    package mutating func next() -> Sent {
        if let sent = again {
            again = nil
            return sent
        }
        number += 1
        if chance.below(4) == 0 { return makeBusy() }
        let sent = makeQuiet()
        if chance.below(20) == 0 { again = sent }
        return sent
    }

    private mutating func makeBusy() -> Sent {
        let group = "busy-\(chance.below(Self.busyGroups))"
        let audience: Audience = chance.below(3) == 0 ? .users(["user-\(chance.below(3))"]) : .group
        let id = "s\(number)"
        if chance.below(10) == 0, let last = lastOf[group] {
            return Sent(
                request: .cancellation(
                    Cancellation(
                        send: last, app: "shop", key: ScopeKey(app: "shop", group: group), acceptedAt: 1)))
        }
        lastOf[group] = id
        return Sent(request: .send(make(.update, id: id, group: group, audience: audience)))
    }

    private mutating func makeQuiet() -> Sent {
        var group = "quiet-\(number / Self.quietSends)"
        let event: PushEvent = [.start, .update, .update, .end][chance.below(4)]
        var owner: Recipient?
        let audience: Audience
        switch chance.below(5) {
        case 0 where event != .start:
            audience = .activities(["a\(chance.below(3))"])
        case 1:
            let user = "user-\(chance.below(3))"
            audience = .users([user])
            owner = .user(user)
            group = "own-" + group
        case 2:
            audience = .users((0...chance.below(4)).map { "user-\($0)" })
        default:
            audience = event == .start ? .everyone : .group
        }
        var send = make(event, id: "s\(number)", group: group, audience: audience)
        send.owner = owner
        if event == .start, chance.below(2) == 0 { send.endDate = 4_000_000_000 }
        send.fingerprint = "f\(number)"
        send.isDryRun = chance.below(20) == 0
        return Sent(request: .send(send))
    }

    private mutating func make(_ event: PushEvent, id: String, group: String, audience: Audience) -> Send {
        var content = PushContent(event)
        content.contentState = RawJSON(text: "{\"goals\":\(chance.below(100))}")
        if event == .start {
            content.attributesType = "Match"
            content.attributes = RawJSON(text: "{\"home\":\"A\"}")
            content.alert = Alert(title: .plain("Kick-off"))
        }
        return Send(
            id: id, app: "shop", group: group, audience: audience, content: content, priority: 10,
            acceptedAt: 1_763_600_000_000)
    }
}

extension RawJSON {
    fileprivate init(text: String) {
        var bytes = Array(text.utf8)
        self = unsafe bytes.withUnsafeMutableBytes { unsafe RawJSON(accepted: UnsafeRawBufferPointer($0)) }
    }
}
