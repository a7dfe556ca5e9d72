internal import CLinux
internal import Glibc

/// An IPv4 or IPv6 address with a port, in the form of the system calls.
package struct SocketAddress: Sendable, CustomStringConvertible {
    private var storage = sockaddr_storage()
    private var length = socklen_t(0)

    fileprivate init?(_ info: addrinfo) {
        let count = unsafe Int(info.ai_addrlen)
        guard let source = unsafe info.ai_addr, count <= MemoryLayout<sockaddr_storage>.size else {
            return nil
        }
        length = unsafe info.ai_addrlen
        unsafe withUnsafeMutableBytes(of: &storage) { target in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: source, count: count))
        }
    }

    private init() {}

    var family: Int32 { Int32(storage.ss_family) }

    /// Runs a call that takes a `sockaddr`.
    func withPointer(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        unsafe withUnsafeBytes(of: storage) { bytes in
            // A non-empty buffer has a base address.
            unsafe call(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), length)
        }
    }

    /// Returns the address that a socket is bound to (`getsockname`) or connected to (`getpeername`).
    static func local(of descriptor: Int32) -> SocketAddress? {
        unsafe readAddress { unsafe getsockname(descriptor, $0, $1) }
    }
    static func peer(of descriptor: Int32) -> SocketAddress? {
        unsafe readAddress { unsafe getpeername(descriptor, $0, $1) }
    }

    private static func readAddress(
        with call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    )
        -> SocketAddress?
    {
        var address = SocketAddress()
        address.length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var length = address.length
        let code = unsafe withUnsafeMutableBytes(of: &address.storage) { bytes in
            unsafe call(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        address.length = length
        return code == 0 ? address : nil
    }

    package var isIPv6: Bool { family == AF_INET6 }

    /// `192.0.2.1`, `2001:db8::1`
    package var host: String {
        numericName(ofWidth: AF_INET6 == family ? INET6_ADDRSTRLEN : INET_ADDRSTRLEN).host
    }

    package var port: Int { numericName(ofWidth: INET6_ADDRSTRLEN).port }

    /// `192.0.2.1:443`, `[2001:db8::1]:443`
    package var description: String {
        let name = numericName(ofWidth: INET6_ADDRSTRLEN)
        return family == AF_INET6 ? "[\(name.host)]:\(name.port)" : "\(name.host):\(name.port)"
    }

    private func numericName(ofWidth width: Int32) -> (host: String, port: Int) {
        var host = [CChar](repeating: 0, count: 64)
        var service = [CChar](repeating: 0, count: 8)
        let code = unsafe withPointer { pointer, length in
            unsafe getnameinfo(pointer, length, &host, 64, &service, 8, NI_NUMERICHOST | NI_NUMERICSERV)
        }
        guard code == 0 else { return ("unknown", 0) }
        return (SocketAddress.text(from: host), Int(SocketAddress.text(from: service)) ?? 0)
    }

    private static func text(from characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension SocketAddress {
    /// Returns the present addresses of a name, in the order to try them. The result is not cached, so the
    /// next connection finds an address that moved.
    ///
    /// Blocks for the DNS lookup, unless `numericOnly`.
    static func resolve(host: String, port: Int, listening: Bool = false, numericOnly: Bool = false)
        -> Result<[SocketAddress], ResolveError>
    {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags =
            AI_NUMERICSERV | (numericOnly ? AI_NUMERICHOST : 0) | (listening ? AI_PASSIVE : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host.isEmpty || host == "*" ? nil : host, String(port), &hints, &list)
        guard code == 0 else { return .failure(ResolveError(host: host, code: code, system: errno)) }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let info = unsafe next {
            if let address = unsafe SocketAddress(info.pointee) { addresses.append(address) }
            unsafe next = info.pointee.ai_next
        }
        return .success(addresses)
    }
}

/// An error for a name without an address.
package struct ResolveError: Error, CustomStringConvertible {
    package let description: String

    init(host: String, code: Int32, system: Int32) {
        let cause: String
        if code == EAI_SYSTEM {
            cause = SystemError.text(for: system)
        } else {
            // SAFETY: static text.
            cause = unsafe String(cString: gai_strerror(code)).lowercased()
        }
        description = "cannot find an address of \(host): \(cause); check the name and the machine's DNS"
    }
}
