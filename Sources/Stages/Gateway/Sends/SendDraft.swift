internal import JSON
internal import LiveActivity

/// The content of a request body before the checks of activity type and field combinations. Each interface
/// reads its body into a draft.
struct SendDraft {
    /// The content. Only a start has a type and attributes in it.
    var content: PushContent
    /// The activity type. On an update or end it only selects the rules of the check.
    var attributesType: String?
    var group: String?
    var audience: Audience
    /// Whether the call marks the group as private to its one user. Nil if the call does not say.
    var isPrivate: Bool?
    var priority = PushPriority.standard
    var collapseID: String?
    var endDate: Int64?
    var deadline: Int64?
    var expiration: Int64?
    var conflate = true
    var onUnknownStart = Send.UnknownStartPolicy.skip
    var restart = false
    var dryRun = false
    /// The time to send at, or nil to send at once.
    var time: SendTime?
    /// The problems with codes that JSON problems do not have.
    var problems: [RequestProblem] = []

    init(event: PushEvent, audience: Audience) {
        content = PushContent(event)
        self.audience = audience
    }
}

/// The names of a send's fields in one interface's body.
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
    /// The field that marks a group as private. Nil if the interface has no such field.
    var isPrivate: String? = "private"

    static let standard = SendFields()

    func name(of field: PayloadViolation.Field) -> String {
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
