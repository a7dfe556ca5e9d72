package import Payloads

extension PayloadRules {
    /// Creates the rules for content of one activity type.
    package init(route: Route = .token, now: Int64, type: ActivityType) {
        self.init(
            route: route, now: now, requiredAttributes: type.requiredAttributes,
            contentStateSchema: type.contentStateSchema, attributesSchema: type.attributesSchema)
    }
}
