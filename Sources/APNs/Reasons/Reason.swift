/// Every reason that APNs documents, as one table: the text on the wire, the status it comes with, and
/// what to do. What is not in the table is judged by its status, and never costs a token.
package enum Reason: String, Sendable, CaseIterable {
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
    /// Not documented; seen when a channel's storage policy is invalid.
    case missingChannelQueueSize = "MissingChannelQueueSize"
    // 403
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyID = "UnrelatedKeyIdInToken"
    /// As the documentation spells it.
    case badEnvironmentKeyID = "BadEnvironmentKeyIdInToken"
    /// As the wire spells it.
    case badEnvironmentKey = "BadEnvironmentKeyInToken"
    case topicMismatch = "TopicMismatch"
    // the rest
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

    /// The status that the documentation gives it.
    package var status: Int { rule.status }
    package var disposition: Disposition { rule.disposition }

    private var rule: (status: Int, disposition: Disposition) {
        switch self {
        case .badDeviceToken, .deviceTokenNotForTopic: (400, .tokenSuspect)
        case .badTopic, .topicDisallowed, .featureNotEnabled: (400, .appMisconfigured)
        case .idleTimeout: (400, .connectionOver)
        case .channelNotRegistered: (400, .channelGone)
        case .cannotCreateChannel: (400, .channelLimit)
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders,
            .invalidPushType,
            .missingDeviceToken, .missingPushType, .missingTopic, .payloadEmpty, .missingChannelID,
            .badChannelID,
            .badRequestParameters, .badRequestPayload, .missingChannelQueueSize:
            (400, .requestFaulty)
        case .expiredProviderToken: (403, .providerTokenExpired)
        case .unrelatedKeyID: (403, .connectionOver)
        case .badCertificate, .badCertificateEnvironment, .forbidden, .invalidProviderToken,
            .badEnvironmentKeyID,
            .badEnvironmentKey, .topicMismatch:
            (403, .appMisconfigured)
        case .missingProviderToken: (403, .requestFaulty)
        case .badPath: (404, .requestFaulty)
        case .methodNotAllowed: (405, .requestFaulty)
        case .expiredToken, .unregistered: (410, .tokenGone)
        case .payloadTooLarge: (413, .requestFaulty)
        case .tooManyProviderTokenUpdates: (429, .providerTokenTooMany)
        case .tooManyRequests: (429, .tokenThrottled)
        case .internalServerError: (500, .serverTrouble)
        case .serviceUnavailable: (503, .serverTrouble)
        case .shutdown: (503, .connectionOver)
        }
    }

    /// The reason that a text names. The channel pages spell one with a space.
    package init?(text: some StringProtocol) {
        self.init(rawValue: text == "Service Unavailable" ? "ServiceUnavailable" : String(text))
    }
}
