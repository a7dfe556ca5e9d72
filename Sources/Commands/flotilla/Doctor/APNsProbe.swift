internal import APNs
internal import CatalogRecords
internal import Lifecycle
internal import Payloads
internal import Sender
internal import Settings
internal import Telemetry

/// A check of the connection to APNs and of each app's provider key: one push per app and environment to a token that
/// no phone has. If APNs accepts the key, its answer is about the token. Any other answer names the fault.
struct APNsProbe {
    private static let timeoutMilliseconds = 8_000
    private static let tokenOfNoPhone = [UInt8](repeating: 0, count: 32)

    private let settings: SenderSettings

    init(settings: ResolvedSettings) { self.settings = settings[SenderSettings.self] }

    /// Returns a finding for each app and environment. Returns none if there is no directory of provider
    /// keys, or no app.
    func findings(for apps: [App]) async -> [Finding] {
        guard !settings.keysDirectory.isEmpty, !apps.isEmpty else { return [] }
        let destination = PushDestination(settings)
        let metrics = Metrics()
        let tokens = ProviderTokens(source: destination.keys, metrics: metrics)
        tokens.reload()
        let provider: APNsProvider
        let loop: EventLoop
        do {
            provider = try APNsProvider(
                settings: destination.apns, tokens: tokens, metrics: metrics, log: .silent)
            loop = try EventLoop(name: "doctor")
            try loop.start()
        } catch {
            return [.wrong(subject: "apns", text: "no connection can be made: \(error)")]
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
                let pusher = Pusher(pushCount: profiles.count, on: loop) { done.resume(returning: $0) }
                pusher.start(with: provider, profiles: profiles)
            }
        }
        return zip(profiles, answers).map(finding)
    }

    private func finding(for profile: PushProfile, answer: Pusher.ProbeResult) -> Finding {
        let subject = "apns \(profile.bundleID) \(profile.environment)"
        switch answer {
        case .answered(_, "BadDeviceToken"), .answered(_, "DeviceTokenNotForTopic"):
            return .good(subject: subject, text: "takes the key \(profile.key)")
        case .answered(let status, let reason):
            return .wrong(
                subject: subject,
                text: "answers the key \(profile.key) with \(status) \(reason); see deploy/book/apns.md")
        case .failed(let fault):
            return .wrong(
                subject: subject,
                text: "no answer (\(fault)); check that this machine can reach its host on port 443")
        }
    }

    /// Pushes once for each profile, and reports all results together. Confined to its loop.
    private final class Pusher: PushReceiver {
        enum ProbeResult: Sendable {
            case answered(status: Int, reason: String)
            case failed(String)
        }

        private let loop: EventLoop
        private let completion: ([ProbeResult]) -> Void
        /// The results in the order of the profiles, nil while a push has no outcome. The tag of a push is its index.
        private var results: [ProbeResult?]
        private var client: APNsClient?
        /// A reference to itself that keeps the pusher alive until it has reported.
        private var selfReference: Pusher?

        init(pushCount: Int, on loop: EventLoop, completion: @escaping ([ProbeResult]) -> Void) {
            self.loop = loop
            self.completion = completion
            results = Array(repeating: nil, count: pushCount)
        }

        func start(with provider: APNsProvider, profiles: [PushProfile]) {
            selfReference = self
            let client = APNsClient(provider: provider, on: loop, receiver: self)
            self.client = client
            let deadline = loop.now.advanced(byMilliseconds: APNsProbe.timeoutMilliseconds)
            for (index, profile) in profiles.enumerated() {
                do {
                    let template = try client.template(
                        profile,
                        LiveActivityHeaders(
                            topic: profile.bundleID + ".push-type.liveactivity", priority: .powerSaving,
                            expiration: 0),
                        body: Array(#"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#.utf8))
                    try client.push(
                        template, token: APNsProbe.tokenOfNoPhone.span,
                        id: PushID(high: 0, low: UInt64(index + 1)),
                        tag: UInt64(index), deadlines: PushDeadlines(deadline: deadline))
                } catch {
                    results[index] = ProbeResult.failed("\(error)")
                }
            }
            reportIfComplete()
        }

        func receive(_ outcomes: PushOutcomes) {
            for outcome in outcomes.list where !outcome.isLate {
                let details = outcomes.details(of: outcome)
                results[Int(outcome.tag)] =
                    outcome.end == .answered
                    ? .answered(status: Int(outcome.status), reason: details?.response.reasonText ?? "")
                    : .failed(outcome.end.text)
            }
            reportIfComplete()
        }

        private func reportIfComplete() {
            let completedResults = results.compactMap(\.self)
            guard completedResults.count == results.count, selfReference != nil else { return }
            client?.stop()
            selfReference = nil
            completion(completedResults)
        }
    }
}

extension PushEnd {
    /// The fault of a push without an answer.
    fileprivate var text: String {
        switch self {
        case .notProcessed(let fault), .unknown(let fault): fault.rawValue
        case .answered, .withdrawn: "cancelled"
        }
    }
}
