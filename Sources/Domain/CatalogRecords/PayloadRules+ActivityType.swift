package import Payloads

extension PayloadRules {
    /// Creates the rules for content of one activity type, with the attributes and schemas that it declares.
    package init(route: Route = .token, now: Int64, type: ActivityType) {
        self.init(
            route: route, now: now, requiredAttributes: type.requiredAttributes,
            contentStateSchema: type.contentStateSchema, attributesSchema: type.attributesSchema)
    }
}
