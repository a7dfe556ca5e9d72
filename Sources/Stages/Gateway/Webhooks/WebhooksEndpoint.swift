internal import HTTPServer

/// The calls about webhook endpoints: `/v1/webhooks`. An endpoint receives facts about all users of the app, so also
/// reading needs the role `admin`.
struct WebhooksEndpoint: Sendable {
    let calls: CatalogCalls

    func add(to routes: inout HTTPRoutes) {
        calls.add(.get, "/v1/webhooks", to: &routes) { context throws(RefusedRequest) in
            WebhookCalls.list(in: context)
        }
        calls.add(.get, "/v1/webhooks/{name}", to: &routes) { context throws(RefusedRequest) in
            try WebhookCalls.show(in: context)
        }
        calls.add(.put, "/v1/webhooks/{name}", to: &routes) { context throws(RefusedRequest) in
            try WebhookCalls.put(in: context)
        }
        calls.add(.delete, "/v1/webhooks/{name}", to: &routes) { context throws(RefusedRequest) in
            try context.refuseBody()
            return try WebhookCalls.delete(in: context)
        }
    }
}
