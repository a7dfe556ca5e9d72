/// A violation of a rule of ActivityKit or APNs by the content of a send, or a warning (`Rule.doubtful`): the
/// field, the rule and the remedy.
package struct PayloadViolation: Sendable, Hashable, CustomStringConvertible {
    /// A part of the content. The raw value is its name in the payload. Each HTTP API has its own name for it.
    package enum Field: String, Sendable, CaseIterable {
        case contentState = "content-state"
        case attributesType = "attributes-type"
        case attributes
        case alert
        case staleDate = "stale-date"
        case dismissalDate = "dismissal-date"
        case relevanceScore = "relevance-score"
        /// On a start: asks the phone for an update token.
        case asksForToken = "input-push-token"
        /// On a start: subscribes the activity to a broadcast channel.
        case channel = "input-push-channel"
        /// The payload as a whole.
        case payload
    }

    package enum Rule: String, Sendable, CaseIterable {
        /// The field, or an attribute in it, is missing.
        case required
        /// The field does not belong to this event or this route.
        case notAllowed = "not_allowed"
        /// The field must be a JSON object.
        case notAnObject = "not_an_object"
        /// The field must have a text.
        case empty
        /// The field must be a time in seconds since 1970.
        case notSeconds = "not_seconds"
        /// The field must be a finite number.
        case notANumber = "not_a_number"
        /// The field contradicts another field or the group.
        case conflict
        /// The field, or the payload, exceeds a limit on its size.
        case tooLarge = "too_large"
        /// The activity type's schema shows that the phone's decoder throws.
        case doesNotDecode = "does_not_decode"
        /// Phones accept the value but may misread it. This is a warning and never a refusal.
        case doubtful
    }

    package let field: Field
    package let rule: Rule
    /// The text that follows the field's name: "is required on a start; give …".
    package let message: String

    package var description: String { "\(field.rawValue) \(message)" }
}
