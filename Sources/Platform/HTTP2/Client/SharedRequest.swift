/// A template and a body with the number of open requests that use them. They are retained once for all these
/// requests.
///
/// A send has thousands of requests. Atomic reference counting of both objects at the start and the end of
/// each request took a tenth of its time. So the count is a plain integer, confined to one thread.
final class SharedRequest {
    let template: RequestTemplate
    let body: SharedBody?
    fileprivate(set) var requestCount = 0

    fileprivate init(template: RequestTemplate, body: SharedBody?) {
        self.template = template
        self.body = body
    }
}

/// The templates and bodies of a session's open requests. An entry without requests is removed.
@safe struct SharedRequests {
    private var entries: [SharedRequest] = []
    /// The entry of the last request. The next request nearly always has the same one.
    private var latest: SharedRequest?

    /// Returns the entry for a template and a body, and counts one more request. The entry is valid until
    /// `release` was called for each of its requests.
    mutating func retain(template: RequestTemplate, body: SharedBody?) -> Unmanaged<SharedRequest> {
        if let latest, latest.template === template, latest.body === body {
            latest.requestCount += 1
            return unsafe Unmanaged.passUnretained(latest)
        }
        let entry =
            entries.first { $0.template === template && $0.body === body }
            ?? add(template: template, body: body)
        latest = entry
        entry.requestCount += 1
        return unsafe Unmanaged.passUnretained(entry)
    }

    /// Counts one request less.
    mutating func release(_ shared: Unmanaged<SharedRequest>) {
        let isLast = unsafe shared._withUnsafeGuaranteedRef { shared in
            shared.requestCount -= 1
            return shared.requestCount == 0
        }
        guard isLast else { return }
        let unusedEntry = unsafe shared.takeUnretainedValue()
        if latest === unusedEntry { latest = nil }
        entries.removeAll { $0 === unusedEntry }
    }

    private mutating func add(template: RequestTemplate, body: SharedBody?) -> SharedRequest {
        let shared = SharedRequest(template: template, body: body)
        entries.append(shared)
        return shared
    }
}
