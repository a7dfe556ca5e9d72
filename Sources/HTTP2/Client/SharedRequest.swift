/// What neighbouring requests have in common: their template and their body, held once for all of them.
///
/// Requests of a send come in thousands, and to count both references for each of them, at its start and at its
/// end, was a tenth of what it takes; so their number is a plain one, of one thread.
final class SharedRequest {
    let template: RequestTemplate
    let body: SharedBody?
    fileprivate(set) var requests = 0

    fileprivate init(_ template: RequestTemplate, _ body: SharedBody?) {
        self.template = template
        self.body = body
    }
}

/// Those of the open requests of one session. What no request needs any more is gone.
@safe struct SharedRequests {
    private var open: [SharedRequest] = []
    /// Of the request that came last: the next one is nearly always of the same.
    private var latest: SharedRequest?

    /// Valid until as many requests as have joined have left.
    mutating func join(_ template: RequestTemplate, _ body: SharedBody?) -> Unmanaged<SharedRequest> {
        if let latest, latest.template === template, latest.body === body {
            latest.requests += 1
            return unsafe Unmanaged.passUnretained(latest)
        }
        let found = open.first { $0.template === template && $0.body === body } ?? add(template, body)
        latest = found
        found.requests += 1
        return unsafe Unmanaged.passUnretained(found)
    }

    mutating func leave(_ shared: Unmanaged<SharedRequest>) {
        let isLast = unsafe shared._withUnsafeGuaranteedRef { shared in
            shared.requests -= 1
            return shared.requests == 0
        }
        guard isLast else { return }
        let gone = unsafe shared.takeUnretainedValue()
        if latest === gone { latest = nil }
        open.removeAll { $0 === gone }
    }

    private mutating func add(_ template: RequestTemplate, _ body: SharedBody?) -> SharedRequest {
        let shared = SharedRequest(template, body)
        open.append(shared)
        return shared
    }
}
