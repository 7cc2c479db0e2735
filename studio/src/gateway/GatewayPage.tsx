// What the gateway recorded.
import { api } from "../api/client";
import { useLoaded } from "../app/loading";
import { Empty, Failed, Loading } from "../design/States";

const load = () => api.gateway();

export default function GatewayPage() {
  const { value, error, reload } = useLoaded(load);
  if (error !== null) return <Failed error={error} retry={reload} />;
  if (value === null) return <Loading what="Reading the gateway's records" />;
  if (!value.available) {
    return (
      <Empty title="The gateway has recorded nothing here">
        <p>{value.reason}</p>
      </Empty>
    );
  }
  return null;
}
