package import Cryptography
package import Identifiers

/// Settings of a simulated APNs. The defaults are Apple's numbers where Apple documents them.
package struct SimulatorSettings: Sendable {
    package var host = "127.0.0.1"
    /// The ports. 0 lets the system choose one.
    package var ports = Ports()
    /// Names and addresses in the server's certificate.
    package var certificateNames = ["localhost", "127.0.0.1", "::1"]
    /// Validity of the server's certificate in days. 825 days are the most that Apple's systems accept. With a
    /// negative value the certificate has expired, so every handshake fails.
    package var certificateDays = 825
    package var connectionsMax = 10_000

    /// Keys for provider tokens, in addition to the key of the credentials.
    package var keys: [ProviderKey] = []
    /// Registered apps by bundle id. If empty, every bundle id is valid.
    package var apps: [String: SimulatedApp] = [:]

    package var streams = StreamSettings()
    package var rateLimit = RateLimitSettings()
    /// Channels that an app may have in one environment.
    package var channelsMax = 10_000
    /// Time without a request after which a connection gets `IdleTimeout`. Nil disables this.
    package var idleMilliseconds: Int?

    package init() {}

    package struct Ports: Sendable, Hashable {
        package var production = 0
        package var sandbox = 0
        package var productionChannels = 0
        package var sandboxChannels = 0

        package init() {}
    }
}

/// An app that is registered with the simulated APNs.
package struct SimulatedApp: Sendable, Hashable {
    /// Whether the app has the broadcast capability of the developer portal.
    package var mayBroadcast = true

    package init(mayBroadcast: Bool = true) { self.mayBroadcast = mayBroadcast }
}

/// A key for provider tokens, as registered in the developer portal.
package struct ProviderKey: Sendable {
    package var keyID: String
    package var teamID: String
    package var key: VerifyingKey
    package var environments: Set<Environment>
    /// Bundle ids, nil for a key of the whole team.
    package var apps: Set<String>?

    package init(
        keyID: String, teamID: String, key: VerifyingKey,
        environments: Set<Environment> = Set(Environment.allCases), apps: Set<String>? = nil
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        self.environments = environments
        self.apps = apps
    }
}

/// The number of streams that a client may open at once on a connection. Error points reduce it: a refusal
/// with 4xx adds one point and a BadDeviceToken adds `badTokenPoints`. A 410 adds none, and an accepted push
/// removes one.
package struct StreamSettings: Sendable, Hashable {
    /// Streams until the first push with a valid provider token is answered.
    package var initialStreams = 1
    package var streamsMax = 1_000
    /// The number of streams is halved each time that this many further error points have been added.
    package var pointsPerHalving = 50
    /// Error points at which the connection is closed.
    package var pointsMax = 500
    package var badTokenPoints = 5

    package init() {}
}

/// The rate limit of each token and channel. A push above it is refused with TooManyRequests.
package struct RateLimitSettings: Sendable, Hashable {
    /// Number of pushes that are accepted without a pause. Nil means no limit.
    package var burst: Int?
    /// Time after which one more push is accepted.
    package var refillMilliseconds = 1_000

    package init(burst: Int? = nil, refillMilliseconds: Int = 1_000) {
        self.burst = burst
        self.refillMilliseconds = refillMilliseconds
    }
}
