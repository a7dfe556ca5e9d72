package import HTTPServer

/// The client address of a request behind proxies. Each proxy appends the address of its caller to
/// `X-Forwarded-For`. Only entries that listed proxies appended are trusted, because a client can forge
/// everything to their left.
package struct ClientAddressResolver: Sendable {
    package static let hopsMax = 16

    private let proxies: [AddressRange]

    package init(proxies: [AddressRange]) { self.proxies = proxies }

    package func address(of request: HTTPRequest) -> String {
        var address = request.peer
        guard isProxy(address) else { return address }
        let hops = request.headers.all(named: "x-forwarded-for").flatMap { $0.split(separator: ",") }
        for hop in hops.suffix(Self.hopsMax).reversed() {
            let entry = hop.trimming { $0 == " " || $0 == "\t" }
            // The entry is not an address. The last trusted address is the best answer.
            guard IPAddress(entry) != nil else { return address }
            address = entry
            guard isProxy(address) else { return address }
        }
        return address
    }

    /// Whether an unlisted peer sends `X-Forwarded-For`.
    package func comesThroughUnlistedProxy(_ request: HTTPRequest) -> Bool {
        !isProxy(request.peer) && request.headers["x-forwarded-for"] != nil
    }

    private func isProxy(_ address: String) -> Bool {
        guard !proxies.isEmpty, let address = IPAddress(address) else { return false }
        return proxies.contains { $0.contains(address) }
    }
}

extension Substring {
    fileprivate func trimming(where isBlank: (Character) -> Bool) -> String {
        var rest = self.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }
}
