internal import APNs
internal import Lifecycle
internal import LiveActivity
internal import Sender
internal import Settings
internal import Telemetry

/// A probe that asks APNs, once per app and environment, to push to a token that no phone has. If APNs
/// accepts the provider key, it answers BadDeviceToken. Any other answer shows the fault on the way.
struct APNsProbe {
    private static let answerMilliseconds = 8_000
    /// A token of no phone.
    private static let token = [UInt8](repeating: 0, count: 32)

    private let settings: SenderSettings

    init(_ settings: ResolvedSettings) { self.settings = settings[SenderSettings.self] }

    func look(at apps: [App]) async -> [Finding] {
        guard !settings.keysDirectory.isEmpty, !apps.isEmpty else { return [] }
        let destination = PushDestination(settings)
        let metrics = Metrics()
        let tokens = ProviderTokens(source: destination.keys, metrics: metrics)
        tokens.reload()
        guard
            let provider = try? APNsProvider(
                settings: destination.apns, tokens: tokens, metrics: metrics, log: .silent),
            let loop = try? EventLoop(name: "doctor"), (try? loop.start()) != nil
        else {
            let text = "the file of sender.apns-authorities cannot be used; correct it"
            return [Finding(subject: "apns", verdict: .wrong, text: text)]
        }
        defer { loop.stop() }
        let profiles = apps.flatMap { app in
            app.environments.map { environment in
                PushProfile(
                    environment: environment, bundleID: app.bundleID,
                    key: ProviderKeyName(teamID: app.teamID, keyID: app.keyID))
            }
        }
        let answers = await withCheckedContinuation { done in
            loop.execute {
                let pusher = Pusher(profiles.count, on: loop) { done.resume(returning: $0) }
                pusher.begin(provider, profiles)
            }
        }
        return zip(profiles, answers).map(finding)
    }

    private func finding(_ profile: PushProfile, _ answer: Pusher.Answer) -> Finding {
        let subject = "apns \(profile.bundleID) \(profile.environment)"
        switch answer {
        case .said(_, "BadDeviceToken"), .said(_, "DeviceTokenNotForTopic"):
            return Finding(subject: subject, verdict: .good, text: "takes the key \(profile.key)")
        case .said(let status, let reason):
            return Finding(
                subject: subject, verdict: .wrong,
                text:
                    "answers the key \(profile.key) with \(status) \(reason); see deploy/book/apns.md"
            )
        case .none(let fault):
            return Finding(
                subject: subject, verdict: .wrong,
                text: "no answer (\(fault)); check that this machine can reach its host on port 443")
        }
    }

    /// Confined to its loop.
    private final class Pusher: PushReceiver {
        enum Answer: Sendable {
            case said(Int, String)
            case none(String)
        }

        private let loop: EventLoop
        private let done: ([Answer]) -> Void
        private var answers: [Answer?]
        private var client: APNsClient?
        /// A reference to itself that keeps the pusher alive until it has reported.
        private var itself: Pusher?

        init(_ count: Int, on loop: EventLoop, done: @escaping ([Answer]) -> Void) {
            self.loop = loop
            self.done = done
            answers = Array(repeating: nil, count: count)
        }

        func begin(_ provider: APNsProvider, _ profiles: [PushProfile]) {
            itself = self
            let client = APNsClient(provider: provider, on: loop, receiver: self)
            self.client = client
            let deadline = loop.now.advanced(byMilliseconds: APNsProbe.answerMilliseconds)
            for (index, profile) in profiles.enumerated() {
                do {
                    let template = try client.template(
                        profile,
                        LiveActivityHeaders(
                            topic: profile.bundleID + ".push-type.liveactivity", priority: 5, expiration: 0),
                        body: Array(#"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#.utf8))
                    _ = try client.push(
                        template, token: APNsProbe.token.span, id: PushID(high: 0, low: UInt64(index + 1)),
                        tag: UInt64(index), deadlines: PushDeadlines(deadline: deadline))
                } catch {
                    answers[index] = Answer.none("\(error)")
                }
            }
            tellWhenComplete()
        }

        func receive(_ outcomes: PushOutcomes) {
            for outcome in outcomes.list where !outcome.isLate {
                let details = outcomes.details(of: outcome)
                answers[Int(outcome.tag)] =
                    outcome.end == .answered
                    ? .said(Int(outcome.status), details?.response.reasonText ?? "")
                    : .none(outcome.end.text)
            }
            tellWhenComplete()
        }

        private func tellWhenComplete() {
            let found = answers.compactMap(\.self)
            guard found.count == answers.count, itself != nil else { return }
            client?.stop()
            itself = nil
            done(found)
        }
    }
}

extension PushEnd {
    fileprivate var text: String {
        switch self {
        case .notProcessed(let fault), .unknown(let fault): fault.rawValue
        case .answered, .withdrawn: "cancelled"
        }
    }
}
