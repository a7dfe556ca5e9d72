internal import JSON
internal import LiveActivity

/// What a body asks for, before anybody has looked whether the app has such a type, and whether the parts
/// belong together. Each interface reads its own body into one.
struct SendDraft {
    /// Without the type and the attributes on what is no start.
    var content: PushContent
    /// The activity type: of a start its own, of others the one by which they are checked.
    var attributesType: String?
    var group: String?
    var audience: Audience
    /// The call says that the group is its one user's alone.
    var isPrivate: Bool?
    var priority = 10
    var collapseID: String?
    var endDate: Int64?
    var deadline: Int64?
    var expiration: Int64?
    var conflate = true
    var onUnknownStart = Send.UnknownStart.skip
    var restart = false
    var dryRun = false
    /// Nil: at once.
    var time: SendTime?
    /// What was found that JSON has no word for.
    var problems: [RequestProblem] = []

    init(_ event: PushEvent, audience: Audience) {
        content = PushContent(event)
        self.audience = audience
    }
}

/// What the parts of a send are called in a body.
struct SendFields {
    var group = "groupId"
    var audience = "audience"
    var attributesType = "attributesType"
    var attributes = "attributes"
    var alert = "alert"
    var segments = "audience.segments"
    var contentState = "contentState"
    var endDate = "endDate"
    var staleDate = "staleDate"
    var dismissalDate = "dismissalDate"
    /// Where a call can say that a group is private; nil where it cannot.
    var isPrivate: String? = "private"

    static let own = SendFields()

    func name(_ field: PayloadViolation.Field) -> String {
        switch field {
        case .contentState: contentState
        case .attributesType: attributesType
        case .attributes: attributes
        case .alert: alert
        case .staleDate: staleDate
        case .dismissalDate: dismissalDate
        case .relevanceScore: "relevanceScore"
        case .asksForToken: "inputPushToken"
        case .channel: "inputPushChannel"
        case .payload: ""
        }
    }
}
