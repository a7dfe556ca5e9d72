/// A violation of a rule of ActivityKit or APNs by the content of a send: the field, the rule and the remedy.
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
        case asksForToken = "input-push-token"
        case channel = "input-push-channel"
        /// The payload as a whole.
        case payload
    }

    package enum Rule: String, Sendable, CaseIterable {
        case required
        case notAllowed = "not_allowed"
        case notAnObject = "not_an_object"
        case empty
        case notSeconds = "not_seconds"
        case notANumber = "not_a_number"
        case conflict
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
