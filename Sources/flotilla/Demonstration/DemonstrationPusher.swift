internal import APNs
internal import Lifecycle
internal import LiveActivity

/// Pushes one body to many tokens, as the sender will: as many as there is room for, then one for each
/// that ends. Pinned to its loop; `@unchecked Sendable` so that the reference can travel there.
final class DemonstrationPusher: PushReceiver, @unchecked Sendable {
    private static let deadlineMilliseconds = 10_000
    /// What a phone that is away may miss it by.
    private static let expirationSeconds: Int64 = 3600

    private let profile: PushProfile
    private var client: APNsClient?
    private var template: PushTemplate?
    private var waiting: [PushToken] = []
    private var open = 0
    private var accepted = 0
    private var completion: (@Sendable (Int) -> Void)?

    init(_ profile: PushProfile) { self.profile = profile }

    func begin(_ provider: Provider, on loop: EventLoop) {
        client = APNsClient(provider, on: loop, receiver: self)
    }

    func stop() { client?.stop() }

    /// Tells how many APNs has accepted when all have ended.
    func push(
        _ body: [UInt8], to tokens: [PushToken], at now: Int64, _ done: @escaping @Sendable (Int) -> Void
    ) {
        let headers = LiveActivityHeaders(
            topic: profile.bundleID + ".push-type.liveactivity", priority: 10,
            expiration: now + Self.expirationSeconds)
        guard let made = try? client?.template(profile, headers, body: body) else {
            preconditionFailure("headers of our own are wrong")
        }
        template = made
        waiting = tokens
        accepted = 0
        completion = done
        proceed()
    }

    func ended(_ outcomes: PushOutcomes) {
        for outcome in outcomes.list where !outcome.isLate {
            open -= 1
            if outcome.status == 200 { accepted += 1 }
        }
        proceed()
    }

    private func proceed() {
        guard let client, let template else { return }
        while let token = waiting.last, pushed(token, client, template) {
            waiting.removeLast()
            open += 1
        }
        if waiting.isEmpty, open == 0, let completion {
            self.completion = nil
            completion(accepted)
        }
    }

    private func pushed(_ token: PushToken, _ client: APNsClient, _ template: PushTemplate) -> Bool {
        let id = PushID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
        let deadline = client.loop.now.advanced(byMilliseconds: Self.deadlineMilliseconds)
        let handle = try? client.push(
            template, token: token.bytes.span, id: id, tag: 0, limits: PushLimits(deadline: deadline))
        return handle != nil
    }
}
