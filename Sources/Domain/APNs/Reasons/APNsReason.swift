/// Every reason that APNs documents, in one table: its text, its status and its disposition. For a reason that is
/// not in the table the status decides, and a token is never dropped (`APNsResponse`).
package enum APNsReason: String, Sendable, CaseIterable {
    // 400, both kinds of push
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingPushType = "MissingPushType"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    // 400, channels
    case featureNotEnabled = "FeatureNotEnabled"
    case missingChannelID = "MissingChannelId"
    case badChannelID = "BadChannelId"
    case channelNotRegistered = "ChannelNotRegistered"
    case badRequestParameters = "BadRequestParams"
    case badRequestPayload = "BadRequestPayload"
    case cannotCreateChannel = "CannotCreateChannelConfig"
    /// Not documented. Observed with an invalid storage policy of a channel.
    case missingChannelQueueSize = "MissingChannelQueueSize"
    // 403
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyID = "UnrelatedKeyIdInToken"
    /// The spelling in the documentation.
    case badEnvironmentKeyID = "BadEnvironmentKeyIdInToken"
    /// The spelling in real answers.
    case badEnvironmentKey = "BadEnvironmentKeyInToken"
    case topicMismatch = "TopicMismatch"
    // Other statuses
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"

    /// The documented status.
    package var status: Int { rule.status }
    package var disposition: ResponseDisposition { rule.disposition }

    private var rule: (status: Int, disposition: ResponseDisposition) {
        switch self {
        case .badDeviceToken, .deviceTokenNotForTopic: (400, .tokenSuspect)
        case .badTopic, .topicDisallowed, .featureNotEnabled: (400, .appMisconfigured)
        case .idleTimeout: (400, .connectionUnusable)
        case .channelNotRegistered: (400, .channelGone)
        case .cannotCreateChannel: (400, .channelLimit)
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders,
            .invalidPushType,
            .missingDeviceToken, .missingPushType, .missingTopic, .payloadEmpty, .missingChannelID,
            .badChannelID,
            .badRequestParameters, .badRequestPayload, .missingChannelQueueSize:
            (400, .requestFaulty)
        case .expiredProviderToken: (403, .providerTokenExpired)
        case .unrelatedKeyID: (403, .connectionUnusable)
        case .badCertificate, .badCertificateEnvironment, .forbidden, .invalidProviderToken,
            .badEnvironmentKeyID,
            .badEnvironmentKey, .topicMismatch:
            (403, .appMisconfigured)
        case .missingProviderToken: (403, .requestFaulty)
        case .badPath: (404, .requestFaulty)
        case .methodNotAllowed: (405, .requestFaulty)
        case .expiredToken, .unregistered: (410, .tokenGone)
        case .payloadTooLarge: (413, .requestFaulty)
        case .tooManyProviderTokenUpdates: (429, .tooManyProviderTokens)
        case .tooManyRequests: (429, .tokenThrottled)
        case .internalServerError: (500, .serverTrouble)
        case .serviceUnavailable: (503, .serverTrouble)
        case .shutdown: (503, .connectionUnusable)
        }
    }

    /// Returns the reason for a text. Apple's pages about channels spell one reason with a space.
    package init?(text: some StringProtocol) {
        self.init(rawValue: text == "Service Unavailable" ? "ServiceUnavailable" : String(text))
    }
}
