internal import APNs

/// APNs' view of one connection: the provider token in use, and the number of streams that the client may
/// open at once. Refused requests reduce that number. The value only decides: `ServedConnection` carries out
/// the actions.
struct ConnectionState {
    /// Minimum difference between the issue times of two provider tokens on a connection. A token that is
    /// closer to the previous one is refused with TooManyProviderTokenUpdates.
    static let providerTokenGapSecondsMin: Int64 = 1_200

    /// The action that follows an answer.
    enum StreamAction: Equatable {
        case none
        /// Tell the client a new limit on concurrent streams.
        case allow(streams: Int)
        /// Too many errors: send GOAWAY and close.
        case close
    }

    private let settings: StreamSettings
    private(set) var providerToken: VerifiedProviderToken?
    /// Number of streams that the client may open at once.
    private(set) var streamAllowance: Int
    /// Whether a fault has fixed the number of streams.
    var isAllowanceFixed = false
    /// Points for refused requests, less one for each accepted request.
    private var errorPoints = 0
    /// Error points at which the number of streams is halved next.
    private var pointsAtHalving: Int

    init(settings: StreamSettings) {
        self.settings = settings
        streamAllowance = min(settings.initialStreams, settings.streamsMax)
        pointsAtHalving = settings.pointsPerHalving
    }

    /// Binds the connection to the key of its first provider token. Returns the refusal of a later token that
    /// uses another key, or that was issued too soon after the previous one.
    mutating func bind(to token: VerifiedProviderToken) -> APNsReason? {
        guard let previous = providerToken, previous !== token else {
            providerToken = token
            return nil
        }
        guard token.key.keyID == previous.key.keyID, token.key.teamID == previous.key.teamID else {
            return .unrelatedKeyID
        }
        guard abs(token.issuedAt - previous.issuedAt) >= Self.providerTokenGapSecondsMin else {
            return .tooManyProviderTokenUpdates
        }
        providerToken = token
        return nil
    }

    /// Counts an answer and returns the action that follows. `StreamSettings` describes the points.
    /// - Parameters:
    ///   - status: the HTTP status of the answer.
    ///   - isBadToken: whether the reason was BadDeviceToken.
    mutating func recordAnswer(status: Int, isBadToken: Bool) -> StreamAction {
        switch status {
        case 200...299:
            errorPoints = max(0, errorPoints - 1)
            return raiseAllowance()
        // A dead token is no error of the sender.
        case 410: return .none
        case 400...499:
            errorPoints += isBadToken ? settings.badTokenPoints : 1
            return lowerAllowance()
        default: return .none
        }
    }

    /// Allows the maximum of streams, if the client has a valid provider token and no error points.
    private mutating func raiseAllowance() -> StreamAction {
        let canRaise = !isAllowanceFixed && streamAllowance < settings.streamsMax
        let isTrusted = providerToken != nil && errorPoints == 0
        guard canRaise, isTrusted else { return .none }
        streamAllowance = settings.streamsMax
        pointsAtHalving = settings.pointsPerHalving
        return .allow(streams: streamAllowance)
    }

    /// Halves the number of streams after enough error points. Closes the connection after too many.
    private mutating func lowerAllowance() -> StreamAction {
        if errorPoints >= settings.pointsMax { return .close }
        let canHalve = !isAllowanceFixed && streamAllowance > 1
        guard canHalve, errorPoints >= pointsAtHalving else { return .none }
        pointsAtHalving = errorPoints + settings.pointsPerHalving
        streamAllowance /= 2
        return .allow(streams: streamAllowance)
    }
}
