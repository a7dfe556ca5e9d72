internal import APNs
internal import JSON
internal import LiveActivity

/// Says what APNs says to a request, in the order in which a server meets it: path, method, headers,
/// provider, topic, body. It does no I/O; phones and misbehaviour come after it.
///
/// Confined to the simulator's event loop, because it keeps verified provider tokens, the channels and
/// the pace of each token.
final class Judge {
    /// Far above every limit of a body: what is too large is read to its end as a rule, because some
    /// clients lose an answer that comes before. A larger body is seen to be cut.
    static let bodyBytesMax = 64 << 10
    static let topicSuffix: StaticString = ".push-type.liveactivity"

    let settings: SimulatorSettings
    /// Whether anybody looks at who a push is for, and of which app.
    let isWatched: Bool
    /// Whether anybody looks at what it says, beyond its event.
    let readsPayloads: Bool
    private(set) var channels: Channels
    let reader = JSONReader(limits: JSONLimits(bytesMax: broadcastBytesMax))
    var pace: TokenPace
    private let providers: ProviderTokens
    /// The bundle id of the last request: usually that of the next one.
    private var lastBundleID: (bytes: [UInt8], text: String) = ([], "")

    init(_ settings: SimulatorSettings, isWatched: Bool, readsPayloads: Bool) {
        self.settings = settings
        self.isWatched = isWatched
        self.readsPayloads = readsPayloads
        channels = Channels(perAppMax: settings.channelsMax)
        pace = TokenPace(settings.pace)
        providers = ProviderTokens(settings.keys, reader)
    }

    /// - Parameters:
    ///   - standing: of the connection that brings the request.
    ///   - facts: what is told of the request beside the verdict, filled in as far as it can be read.
    func judge(
        _ request: ReceivedRequest, on port: ServedPort, standing: inout ConnectionStanding,
        noting facts: inout RequestFacts
    ) -> Verdict {
        let path = RequestPath(request.bytes, request.path)
        switch (port.kind, path) {
        case (.push, .device(let token)):
            facts.kind = .push
            return push(request, to: token, on: &standing, noting: &facts)
        case (.push, .broadcast(let app)):
            facts.kind = .broadcast
            return broadcast(request, of: app, on: &standing, noting: &facts)
        case (.channels, .channels(let app)): return channel(request, of: app, on: &standing, noting: &facts)
        case (.channels, .allChannels(let app)):
            facts.kind = .listChannels
            return list(request, of: app, on: &standing, noting: &facts)
        default: return .refused(.badPath)
        }
    }

    /// Who sends it: nil when that is good. The age of a provider token goes by the machine's clock,
    /// as its issuer does: putting the simulator's forward makes no token old.
    func refusal(
        ofProviderIn request: ReceivedRequest, _ standing: inout ConnectionStanding,
        _ facts: inout RequestFacts
    ) -> Reason? {
        guard let authorization = request.headers.authorization else { return .missingProviderToken }
        let verdict = providers.judge(
            request.bytes.span.extracting(authorization), last: standing.provider,
            at: (facts.receivedAt - facts.clockAhead) / 1000)
        switch verdict {
        case .refused(let reason): return reason
        case .good(let provider):
            facts.doubt = provider.doubt
            guard provider.key.environments.contains(facts.environment) else { return .badEnvironmentKey }
            return standing.commit(to: provider)
        }
    }

    /// The channels, and how often each token was pushed to; verified provider tokens stay so.
    func forget() {
        channels = Channels(perAppMax: settings.channelsMax)
        pace = TokenPace(settings.pace)
    }

    func isRegistered(_ bundleID: String) -> Bool {
        settings.apps.isEmpty || settings.apps[bundleID] != nil
    }

    func bundleID(_ bytes: Span<UInt8>) -> String {
        if !Text.equal(bytes, lastBundleID.bytes) {
            lastBundleID = (Text.array(bytes), Text.string(bytes))
        }
        return lastBundleID.text
    }
}
