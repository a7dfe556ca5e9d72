/// Names of installations and users. Most are derived from a number, such as `phone-7` and `user-3`, and only
/// given names are stored.
struct PhoneNames {
    static let installationPrefix = "phone-"
    static let userPrefix = "user-"

    /// Given names of installations by the number of the phone.
    private var installations: [Int: String] = [:]
    /// Numbers of the phones with a given name.
    private var numbers: [String: Int] = [:]
    /// Given user names by phone.
    private var users: [Int: String] = [:]

    mutating func setInstallation(ofPhone number: Int, to installation: String) {
        installations[number] = installation
        numbers[installation] = number
    }

    func installation(ofPhone number: Int) -> String {
        installations[number] ?? "\(Self.installationPrefix)\(number)"
    }

    /// Returns the number of the phone with this name, or nil if no such phone exists.
    func number(ofInstallation installation: String, phoneCount: Int) -> Int? {
        if let number = numbers[installation] { return number }
        guard installation.hasPrefix(Self.installationPrefix),
            let number = Int(installation.dropFirst(Self.installationPrefix.count)),
            (0..<phoneCount).contains(number)
        else { return nil }
        // A phone with a given name has lost its derived name.
        return installations[number] == nil ? number : nil
    }

    /// Sets the phone's user. Nil logs the user out.
    mutating func setUser(_ user: String?, ofPhone number: Int, phone: inout Phone) {
        users[number] = user
        phone.user = -1
    }

    func user(ofPhone number: Int, phone: Phone) -> String? {
        users[number] ?? (phone.user >= 0 ? "\(Self.userPrefix)\(phone.user)" : nil)
    }
}
