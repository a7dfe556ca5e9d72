internal import Identifiers
internal import JSON
internal import Payloads
internal import RecordFormat
package import Sends
internal import Simulation

/// A generator of random sends and cancellations. A quiet group gets so few sends that none has to wait. A busy group
/// gets more sends than one in a second, so its timestamps run ahead of the clock, and the planner holds some of them.
package struct SendGenerator {
    /// The number of sends to one quiet group. Even if all come in one second, its timestamps do not run too far ahead
    /// of the clock.
    private static let sendsPerQuietGroup = 5
    private static let busyGroupCount = 8
    /// An end date in the year 2096, in seconds since 1970. No test lasts until then.
    private static let farEndDate: Int64 = 4_000_000_000

    /// A record of `sends`.
    package struct GeneratedRequest: Sendable {
        package let request: SendRequest
        package var key: [UInt8] { request.scopeKey?.bytes ?? [] }

        package var value: [UInt8] {
            switch request {
            case .send(let send): send.encoded()
            case .cancellation(let cancellation): cancellation.encoded()
            case .subscription(let subscription): subscription.encoded()
            }
        }
    }

    private var random: SeededGenerator
    private var sendCount = 0
    /// The request that comes again next, as from a client that got no answer.
    private var requestToRepeat: GeneratedRequest?
    /// The id of the last send to each busy group, for cancellations.
    private var lastSendOfGroup: [String: String] = [:]

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    package static func isBusy(_ key: ScopeKey) -> Bool { key.group?.hasPrefix("busy") ?? false }

    /// Returns the next request. Some requests to quiet groups come twice in a row.
    package mutating func next() -> GeneratedRequest {
        if let repeated = requestToRepeat {
            requestToRepeat = nil
            return repeated
        }
        sendCount += 1
        if random.number(below: 4) == 0 { return makeBusyGroupRequest() }
        let request = makeQuietGroupRequest()
        if random.number(below: 20) == 0 { requestToRepeat = request }
        return request
    }

    private mutating func makeBusyGroupRequest() -> GeneratedRequest {
        let group = "busy-\(random.number(below: Self.busyGroupCount))"
        let audience: Audience =
            random.number(below: 3) == 0 ? .users(["user-\(random.number(below: 3))"]) : .group
        let id = "s\(sendCount)"
        if random.number(below: 10) == 0, let lastSend = lastSendOfGroup[group] {
            let cancellation = Cancellation(
                send: lastSend, app: "shop", key: ScopeKey(app: "shop", group: group), acceptedAt: 1)
            return GeneratedRequest(request: .cancellation(cancellation))
        }
        lastSendOfGroup[group] = id
        return GeneratedRequest(request: .send(makeSend(.update, id: id, group: group, audience: audience)))
    }

    private mutating func makeQuietGroupRequest() -> GeneratedRequest {
        var group = "quiet-\(sendCount / Self.sendsPerQuietGroup)"
        let event: PushEvent = [.start, .update, .update, .end][random.number(below: 4)]
        var owner: Recipient?
        let audience: Audience
        switch random.number(below: 5) {
        case 0 where event != .start:
            audience = .activities(["a\(random.number(below: 3))"])
        case 1:
            let user = "user-\(random.number(below: 3))"
            audience = .users([user])
            owner = .user(user)
            group = "own-" + group
        case 2:
            audience = .users((0...random.number(below: 4)).map { "user-\($0)" })
        default:
            audience = event == .start ? .everyone : .group
        }
        var send = makeSend(event, id: "s\(sendCount)", group: group, audience: audience)
        send.owner = owner
        if event == .start, random.number(below: 2) == 0 { send.endDate = Self.farEndDate }
        send.fingerprint = "f\(sendCount)"
        send.isDryRun = random.number(below: 20) == 0
        return GeneratedRequest(request: .send(send))
    }

    private mutating func makeSend(_ event: PushEvent, id: String, group: String, audience: Audience) -> Send
    {
        var content = PushContent(event)
        content.contentState = RawJSON(text: "{\"goals\":\(random.number(below: 100))}")
        if event == .start {
            content.attributesType = "Match"
            content.attributes = RawJSON(text: "{\"home\":\"A\"}")
            content.alert = Alert(title: .plain("Kick-off"))
        }
        return Send(
            id: id, app: "shop", group: group, audience: audience, content: content, priority: .immediate,
            acceptedAt: 1_763_600_000_000)
    }
}

extension RawJSON {
    fileprivate init(text: String) {
        var bytes = Array(text.utf8)
        self = unsafe bytes.withUnsafeMutableBytes { unsafe RawJSON(accepted: UnsafeRawBufferPointer($0)) }
    }
}
