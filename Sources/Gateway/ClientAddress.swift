package import HTTPServer

/// Whose request it is, where proxies stand before the gateway: they say it in `X-Forwarded-For`, to
/// which each adds at the right the address that it was called from. Only what listed proxies have added
/// is believed; what stands further left anybody may have written.
package struct ClientAddress: Sendable {
    package static let hopsMax = 16

    private let proxies: [AddressRange]

    package init(proxies: [AddressRange]) { self.proxies = proxies }

    package func of(_ request: HTTPRequest) -> String {
        var address = request.peer
        guard isProxy(address) else { return address }
        let hops = request.headers.all("x-forwarded-for").flatMap { $0.split(separator: ",") }
        for hop in hops.suffix(Self.hopsMax).reversed() {
            let name = hop.trimming { $0 == " " || $0 == "\t" }
            // A proxy that writes something else: then what it was called from is all that is known.
            guard IPAddress(name) != nil else { return address }
            address = name
            guard isProxy(address) else { return address }
        }
        return address
    }

    /// Whether somebody whom nobody has listed speaks for others.
    package func isUnlistedProxy(_ request: HTTPRequest) -> Bool {
        !isProxy(request.peer) && request.headers["x-forwarded-for"] != nil
    }

    private func isProxy(_ address: String) -> Bool {
        guard !proxies.isEmpty, let address = IPAddress(address) else { return false }
        return proxies.contains { $0.contains(address) }
    }
}

extension Substring {
    fileprivate func trimming(_ isBlank: (Character) -> Bool) -> String {
        var rest = self.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }
}
