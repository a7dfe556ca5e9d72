package import Cryptography
package import LiveActivity

/// What a simulated APNs is and how strict; the defaults are Apple's where Apple says a number.
package struct SimulatorSettings: Sendable {
    package var host = "127.0.0.1"
    /// 0 lets the system choose.
    package var ports = Ports()
    /// Names and addresses that the server's certificate is for.
    package var certificateNames = ["localhost", "127.0.0.1", "::1"]
    /// Of the server's certificate; a time in the past makes every handshake fail.
    package var certificateDays = 825
    package var connectionsMax = 10_000

    package var keys: [ProviderKey] = []
    /// Empty: every bundle id is an app.
    package var apps: [String: SimulatedApp] = [:]

    package var streams = StreamSettings()
    package var pace = PaceSettings()
    package var channelsMax = 10_000
    /// A connection without a request for so long is told `IdleTimeout`; nil lets it be.
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
    /// The broadcast capability of the developer portal.
    package var mayBroadcast = true

    package init(mayBroadcast: Bool = true) { self.mayBroadcast = mayBroadcast }
}

/// A key for provider tokens, as the developer portal would know it.
package struct ProviderKey: Sendable {
    package var keyID: String
    package var teamID: String
    package var key: VerifyingKey
    package var environments: Set<Environment>
    /// Bundle ids; nil for a key of the whole team.
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

/// How many streams a connection is allowed.
package struct StreamSettings: Sendable, Hashable {
    /// Until its first push with a valid provider token is answered.
    package var atFirst = 1
    package var most = 1_000
    /// Points for errors at which the allowance is halved, and those at which the connection is ended;
    /// a 4xx is one point, BadDeviceToken is `badTokenPoints`, 410 is none, and a good push takes one back.
    package var pointsPerHalving = 50
    package var pointsMax = 500
    package var badTokenPoints = 5

    package init() {}
}

/// How fast one token may be pushed to; nil is never too fast.
package struct PaceSettings: Sendable, Hashable {
    /// Pushes to one token or channel at once, before TooManyRequests.
    package var burst: Int?
    /// One more push is allowed after so long.
    package var refillMilliseconds = 1_000

    package init(burst: Int? = nil, refillMilliseconds: Int = 1_000) {
        self.burst = burst
        self.refillMilliseconds = refillMilliseconds
    }
}
