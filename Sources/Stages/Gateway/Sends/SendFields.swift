internal import Payloads

/// The names that the fields of a send have in the body of one interface, for error messages. Netmera's call for
/// many recipients, for example, has the group in `message.groupId`.
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

    /// The names in `POST /v1/sends`.
    static let standard = SendFields()

    /// Returns the name of a field of the payload. It is empty for the payload as a whole.
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
