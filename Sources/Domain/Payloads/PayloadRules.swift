package import ContentSchemas
internal import JSON

/// The rules that a payload must keep so that APNs accepts it and a phone acts on it. The gateway checks them
/// before it accepts a send, because APNs answers 200 to many payloads that a phone then silently ignores.
package struct PayloadRules: Sendable {
    /// The address to which APNs is asked to send the payload: one phone's token, or a broadcast channel. A
    /// channel allows a larger payload.
    package enum Route: Sendable {
        case token
        case channel

        /// Apple's limit on the size of the body in bytes.
        package var bytesMax: Int {
            switch self {
            case .token: 4096
            case .channel: 5120
            }
        }
    }

    /// ActivityKit's limit for attributes and content-state together, in bytes. An update carries only the
    /// content-state, so its size alone does not show whether the sum exceeds the limit.
    package static let dataBytesMax = 4096
    /// Dates above this are milliseconds by mistake: as seconds since 1970 they lie after the year 5000.
    package static let secondsMax: Int64 = 100_000_000_000
    /// Dates below this, except 0, are seconds since 2001 by mistake, as in Swift's own dates. As seconds since
    /// 1970 they lie before September 2020, when Live Activities did not exist.
    static let secondsMin: Int64 = 1_600_000_000
    /// The time after which the system removes an ended activity from the Lock Screen, in seconds.
    static let dismissalSecondsMax: Int64 = 4 * 3600

    package let route: Route
    /// The time of submission, in seconds since 1970.
    package let now: Int64
    /// The attributes that the activity type declares as required.
    package let requiredAttributes: [String]
    /// The schema of the activity type's content state, or nil if the type has none.
    package let contentStateSchema: ContentSchema?
    /// The schema of the activity type's attributes, or nil if the type has none.
    package let attributesSchema: ContentSchema?

    package init(
        route: Route = .token, now: Int64, requiredAttributes: [String] = [],
        contentStateSchema: ContentSchema? = nil, attributesSchema: ContentSchema? = nil
    ) {
        self.route = route
        self.now = now
        self.requiredAttributes = requiredAttributes
        self.contentStateSchema = contentStateSchema
        self.attributesSchema = attributesSchema
    }

    /// Returns all problems in the order of the fields, or an empty array if the content may be sent.
    ///
    /// - Parameters:
    ///   - group: the group attribute that a start carries. It counts into the size.
    ///   - attributesBytes: the size of the attributes that the activity was started with, if known. An
    ///     update is refused if these and the new state together exceed the limit.
    package func violations(
        in content: PushContent, group: GroupAttribute? = nil, attributesBytes: Int = 0
    ) -> [PayloadViolation] {
        var check = PayloadCheck(content: content, rules: self)
        check.checkState()
        check.checkAttributes(group: group)
        check.checkAlert()
        check.checkDates()
        check.checkRemainingFields()
        // Sizes presuppose that all required parts are there.
        if check.violations.isEmpty { check.checkSizes(group: group, knownAttributesBytes: attributesBytes) }
        // A schema would report a missing attribute a second time.
        let reportedFields = Set(check.violations.filter { $0.rule != .tooLarge }.map(\.field))
        check.violations += schemaViolations(in: content, group: group)
            .filter { $0.rule == .doesNotDecode && !reportedFields.contains($0.field) }
        return check.violations
    }

    /// Whether a body for tokens keeps the size limits. The fan-out asks this about content that it assembles
    /// from the parts of accepted sends.
    package static func fits(_ content: PushContent, body: [UInt8]) -> Bool {
        let dataBytes = (content.attributes?.count ?? 0) + (content.contentState?.count ?? 0)
        return body.count <= Route.token.bytesMax && dataBytes <= dataBytesMax
    }
}
