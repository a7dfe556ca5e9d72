enum GatewayTestsPlaceholder {}
