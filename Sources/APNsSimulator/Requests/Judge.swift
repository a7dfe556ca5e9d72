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
    /// Bundle id and body of the last request, and what the last body said: usually those of the next one.
    @safe @exclusivity(unchecked) private var lastBundleID:
        (bytes: [UInt8], text: String, isRegistered: Bool) = ([], "", false)
    @safe @exclusivity(unchecked) private var lastBody: [UInt8] = []
    @safe @exclusivity(unchecked) var lastRead: (body: [UInt8], payload: PushPayload?) = ([], nil)

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
        switch (port.kind, request.path) {
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
            guard provider.takes(facts.environment) else { return .badEnvironmentKey }
            return standing.commit(to: provider)
        }
    }

    /// The channels, and how often each token was pushed to; verified provider tokens stay so.
    func forget() {
        channels = Channels(perAppMax: settings.channelsMax)
        pace = TokenPace(settings.pace)
    }

    /// Nil for what is the bundle id of no registered app.
    func registered(_ bytes: Span<UInt8>) -> String? {
        if !Text.equal(bytes, lastBundleID.bytes) {
            let text = Text.string(bytes)
            let isRegistered =
                Text.isBundleID(bytes) && (settings.apps.isEmpty || settings.apps[text] != nil)
            lastBundleID = (Text.array(bytes), text, isRegistered)
        }
        return lastBundleID.isRegistered ? lastBundleID.text : nil
    }

    /// The bytes, to be kept: those that neighbours have in common are there once.
    func body(_ bytes: Span<UInt8>) -> [UInt8] {
        if !Text.equal(bytes, lastBody) { lastBody = Text.array(bytes) }
        return lastBody
    }
}
