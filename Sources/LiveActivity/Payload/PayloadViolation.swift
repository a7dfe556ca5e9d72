/// One rule of ActivityKit or APNs that a content breaks: which part, which rule, and what to do.
package struct PayloadViolation: Sendable, Hashable, CustomStringConvertible {
    /// A part of the content. The interfaces call them by names of their own.
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
        /// The activity type's schema says that Swift would throw.
        case doesNotDecode = "does_not_decode"
        /// Phones take it, but perhaps for something else than was meant. A warning, never a refusal.
        case doubtful
    }

    package let field: Field
    package let rule: Rule
    /// Goes on after the field's name: "is required on a start; give …".
    package let message: String

    package var description: String { "\(field.rawValue) \(message)" }
}
