/// The template and body of consecutive requests, retained once for all of them.
///
/// A send has thousands of requests. Counting both references at the start and end of each request took a
/// tenth of its time. So the count is a plain integer, confined to one thread.
final class SharedRequest {
    let template: RequestTemplate
    let body: SharedBody?
    fileprivate(set) var requests = 0

    fileprivate init(template: RequestTemplate, body: SharedBody?) {
        self.template = template
        self.body = body
    }
}

/// The shared templates and bodies of a session's open requests. An entry without requests is removed.
@safe struct SharedRequests {
    private var openRequests: [SharedRequest] = []
    /// The entry of the last request. The next request nearly always has the same one.
    private var latest: SharedRequest?

    /// Returns the entry and counts one more request. Valid until each such request has left.
    mutating func retain(template: RequestTemplate, body: SharedBody?) -> Unmanaged<SharedRequest> {
        if let latest, latest.template === template, latest.body === body {
            latest.requests += 1
            return unsafe Unmanaged.passUnretained(latest)
        }
        let found =
            openRequests.first { $0.template === template && $0.body === body }
            ?? add(template: template, body: body)
        latest = found
        found.requests += 1
        return unsafe Unmanaged.passUnretained(found)
    }

    mutating func release(_ shared: Unmanaged<SharedRequest>) {
        let isLast = unsafe shared._withUnsafeGuaranteedRef { shared in
            shared.requests -= 1
            return shared.requests == 0
        }
        guard isLast else { return }
        let gone = unsafe shared.takeUnretainedValue()
        if latest === gone { latest = nil }
        openRequests.removeAll { $0 === gone }
    }

    private mutating func add(template: RequestTemplate, body: SharedBody?) -> SharedRequest {
        let shared = SharedRequest(template: template, body: body)
        openRequests.append(shared)
        return shared
    }
}
