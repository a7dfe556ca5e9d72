/// The rules that a payload must keep so that APNs accepts it and a phone acts on it, checked before a
/// send is accepted: APNs answers 200 to much of what a phone then ignores in silence.
package struct PayloadRules: Sendable {
    /// How the payload travels; a channel's may be larger.
    package enum Route: Sendable {
        case token
        case channel

        package var bytesMax: Int { self == .token ? 4096 : 5120 }
    }

    /// ActivityKit's limit for attributes and content-state together, which the size of an update
    /// alone does not show.
    package static let dataBytesMax = 4096
    /// Whether a content that was put together here, of parts that were accepted, can go to tokens as one body.
    package static func hasRoom(for content: PushContent, as body: [UInt8]) -> Bool {
        let data = (content.attributes?.count ?? 0) + (content.contentState?.count ?? 0)
        return body.count <= Route.token.bytesMax && data <= dataBytesMax
    }

    /// Dates beyond this are milliseconds by mistake: as seconds they lie after the year 5000.
    package static let secondsMax: Int64 = 100_000_000_000
    /// Dates before this, but 0, are counted from 2001, as Swift's own dates are: as seconds since 1970
    /// they lie before Live Activities existed.
    static let secondsMin: Int64 = 1_600_000_000

    package let route: Route
    /// Seconds since 1970 when the content was handed in.
    package let now: Int64
    /// The attributes that the activity type declares as required.
    package let requiredAttributes: [String]
    /// What the activity type says that phones decode.
    package let contentStateSchema: ContentSchema?
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

    /// The rules for content of one activity type.
    package init(route: Route = .token, now: Int64, type: ActivityType) {
        self.init(
            route: route, now: now, requiredAttributes: type.requiredAttributes,
            contentStateSchema: type.contentStateSchema, attributesSchema: type.attributesSchema)
    }

    /// Everything that is wrong, in the order of the fields; empty when the content may be sent.
    ///
    /// - Parameters:
    ///   - group: what a start will carry so that phones learn their group; it counts into the size.
    ///   - attributesBytes: the size of the attributes that the activity was started with, where it is
    ///     known: an update is refused when they and the new state together pass the limit.
    package func violations(
        in content: PushContent, group: GroupAttribute? = nil, attributesBytes known: Int = 0
    ) -> [PayloadViolation] {
        var check = Check(content: content, rules: self)
        check.state()
        check.attributes(group)
        check.alert()
        check.dates()
        check.rest()
        guard check.found.isEmpty else { return check.found }
        check.sizes(group, known)
        check.found += decoding(of: content, group).filter { $0.rule == .doesNotDecode }
        return check.found
    }
}

private struct Check {
    let content: PushContent
    let rules: PayloadRules
    var found: [PayloadViolation] = []

    private var event: PushEvent { content.event }

    private mutating func add(
        _ field: PayloadViolation.Field, _ rule: PayloadViolation.Rule, message: String
    ) {
        found.append(PayloadViolation(field: field, rule: rule, message: message))
    }

    mutating func state() {
        if let state = content.contentState {
            if !state.isObject {
                add(
                    .contentState, .notAnObject,
                    message: "must be a JSON object, the ContentState of the activity type")
            }
        } else if event != .end {
            add(
                .contentState, .required,
                message: "is required on \(event.phrase); give the whole state, not a change to it")
        }
    }

    mutating func attributes(_ group: GroupAttribute?) {
        if event == .start {
            if content.attributesType?.isEmpty ?? true {
                add(
                    .attributesType, .required,
                    message: "is required on a start; give the name of the ActivityAttributes type")
            }
            guard let attributes = content.attributes else {
                return add(
                    .attributes, .required,
                    message: "is required on a start; give every property of the attributes type")
            }
            if !attributes.isObject {
                return add(
                    .attributes, .notAnObject,
                    message: "must be a JSON object, the properties of the attributes type")
            }
            let members = attributes.members
            // The group's own is put in.
            for name in rules.requiredAttributes
            where members[name, default: .null] == .null && !(group?.name.isExactly(name) ?? false) {
                add(
                    .attributes, .required,
                    message:
                        "lacks \(name), or has null, and the activity type requires it; without it no phone starts"
                )
            }
        } else {
            if content.attributesType != nil {
                add(
                    .attributesType, .notAllowed,
                    message: "belongs to a start only; leave it out of \(event.phrase)")
            }
            if content.attributes != nil {
                add(
                    .attributes, .notAllowed,
                    message: "belongs to a start only; they cannot be changed by \(event.phrase)")
            }
        }
    }

    mutating func alert() {
        if let alert = content.alert {
            if alert.isEmpty {
                add(.alert, .empty, message: "has neither title nor body; give one, or leave the alert out")
            }
        } else if event == .start {
            add(
                .alert, .required,
                message: "is required on a start; without a title or a body iOS does not show the activity")
        }
    }

    mutating func dates() {
        if let date = content.staleDate {
            if event == .end {
                add(.staleDate, .notAllowed, message: "has no meaning on an end; give dismissal-date instead")
            } else {
                // In the past it is allowed: the state is then shown as outdated at once.
                checkSeconds(date, .staleDate)
            }
        }
        if let date = content.dismissalDate {
            if event == .end {
                // In the past it is allowed: the activity then leaves the Lock Screen at once.
                checkSeconds(date, .dismissalDate)
            } else {
                add(
                    .dismissalDate, .notAllowed,
                    message: "belongs to an end only; leave it out of \(event.phrase)")
            }
        }
    }

    private mutating func checkSeconds(_ date: Int64, _ field: PayloadViolation.Field) {
        guard date > PayloadRules.secondsMax else { return }
        add(field, .notSeconds, message: "must be in seconds since 1970; \(date) looks like milliseconds")
    }

    mutating func rest() {
        if let score = content.relevanceScore, !score.isFinite {
            add(
                .relevanceScore, .notANumber,
                message: "must be a finite number; it is compared with the app's other activities")
        }
        if event != .start {
            if content.asksForToken {
                add(.asksForToken, .notAllowed, message: "belongs to a start only; leave it out")
            }
            if content.channel != nil {
                add(.channel, .notAllowed, message: "belongs to a start only; leave it out")
            }
        } else if content.asksForToken, content.channel != nil {
            add(
                .asksForToken, .conflict,
                message: "cannot stand beside input-push-channel; an activity listens to one of them")
        }
        if content.channel?.isEmpty == true {
            add(.channel, .empty, message: "is empty; give the channel's id or leave it out")
        }
        if event == .start, rules.route == .channel {
            add(.payload, .notAllowed, message: "cannot start an activity through a channel; start by token")
        }
    }

    mutating func sizes(_ group: GroupAttribute?, _ knownAttributesBytes: Int) {
        let attributes = PayloadBuilder.attributes(of: content, group)
        if let group, event == .start, attributes == nil {
            return add(
                .attributes, .conflict,
                message: "has another \(group.name) than the group; leave it out, it is put in for you")
        }
        let attributesBytes = attributes?.count ?? knownAttributesBytes
        let data = attributesBytes + (content.contentState?.count ?? 0)
        if data > PayloadRules.dataBytesMax {
            add(
                .contentState, .tooLarge,
                message:
                    "and the attributes have \(data) bytes together; ActivityKit allows \(PayloadRules.dataBytesMax)"
            )
        }
        let body = PayloadBuilder.body(content, timestamp: rules.now, group: group)
        if body.count > rules.route.bytesMax {
            add(
                .payload, .tooLarge,
                message:
                    "has \(body.count) bytes; APNs allows \(rules.route.bytesMax), so shorten the state or the alert"
            )
        }
    }
}

extension PushEvent {
    fileprivate var phrase: String { self == .update ? "an update" : self == .end ? "an end" : "a start" }
}
