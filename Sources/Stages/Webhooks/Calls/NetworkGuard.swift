internal import Lifecycle
internal import Settings

/// The rule about the addresses that may be called. Without it, anyone who may create an endpoint could call services
/// in the private network of the installation.
struct NetworkGuard: Sendable {
    /// The networks that are allowed although they are not public.
    private let allowed: [AddressRange]

    init(allowing allowed: [AddressRange]) { self.allowed = allowed }

    /// Returns the reason why an address must not be called, or nil if it may.
    func problem(with host: String) -> String? {
        // An address with a zone, such as fe80::1%eth0, does not parse, so it is refused. It is never public.
        if let address = IPAddress(host),
            address.isPublic || allowed.contains(where: { $0.contains(address) })
        {
            return nil
        }
        return "\(host) is not an address of the internet; allow its network with webhooks.allow-networks"
    }

    /// The options of a connection that checks each address.
    var options: TCPOptions {
        var options = TCPOptions()
        options.addressProblem = { address in problem(with: address.host) }
        return options
    }
}
