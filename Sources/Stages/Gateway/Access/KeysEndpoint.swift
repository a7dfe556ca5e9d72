internal import HTTPServer

/// The calls about the API keys of the app: `/v1/keys`. All of them need the role `admin`.
struct KeysEndpoint: Sendable {
    let calls: CatalogCalls

    func add(to routes: inout HTTPRoutes) {
        calls.add(.get, "/v1/keys", to: &routes) { context throws(RefusedRequest) in
            KeyCalls.list(in: context)
        }
        calls.add(.post, "/v1/keys", to: &routes) { context throws(RefusedRequest) in
            try KeyCalls.create(in: context)
        }
        calls.add(.get, "/v1/keys/{id}", to: &routes) { context throws(RefusedRequest) in
            try KeyCalls.show(in: context)
        }
        calls.add(.put, "/v1/keys/{id}", to: &routes) { context throws(RefusedRequest) in
            try KeyCalls.change(in: context)
        }
        calls.add(.delete, "/v1/keys/{id}", to: &routes) { context throws(RefusedRequest) in
            try context.refuseBody()
            return try KeyCalls.revoke(in: context)
        }
    }
}
